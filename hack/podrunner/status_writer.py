"""Telling the API server how a pod is, whenever that has changed."""

import asyncio
import logging
from typing import Final

import msgspec

from controller.runtime.client.client import Client
from controller.runtime.client.kind import key_of
from controller.runtime.client.rest import Call
from controller.runtime.clock import Clock
from controller.runtime.errors import ApiError, NotFoundError
from hack.podrunner.pod import PODS, Pod
from hack.podrunner.pod_status import Seen, conditions, is_ready, pod_status
from shared.k8s.conditions import timestamp

STRATEGIC: Final = "application/strategic-merge-patch+json"
RETRY_SECONDS: Final = 0.5

log = logging.getLogger(__name__)


class StatusReport:
    """The status of one pod; only the last of several changes has to be told."""

    def __init__(self, pod: Pod, client: Client, clock: Clock) -> None:
        self._pod = pod
        self._client = client
        self._clock = clock
        self._seen: dict[str, Seen] = {}
        self._was_ready: bool | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    def tell(self, container: str, seen: Seen) -> None:
        """A container has changed."""
        self._seen[container] = seen
        self._changed.set()

    async def run(self) -> None:
        """Write every change until cancelled, or until there is no pod any more."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._write()
            except NotFoundError:
                return
            except ApiError as error:
                log.warning("status_not_written", extra={"why": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
                self._changed.set()

    async def _write(self) -> None:
        """The conditions only when they change: their times tell since when they hold."""
        status, ready = pod_status(self._pod, self._seen), is_ready(self._pod, self._seen)
        if ready != self._was_ready:
            status["conditions"] = conditions(ready, timestamp(self._clock.now()))
        # With the uid nobody else's status is written, should the name be in use again.
        body = {"metadata": {"uid": self._pod.metadata.uid}, "status": status}
        path = PODS.path(key_of(self._pod), "status")
        call = Call("PATCH", path, {}, msgspec.json.encode(body), STRATEGIC)
        await self._client.rest.send(call)
        self._was_ready = ready
