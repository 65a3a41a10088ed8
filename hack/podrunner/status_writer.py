"""The writer of a pod's status, which sends changes to the API server."""

import asyncio
import logging
from typing import Final

import msgspec

from controller.runtime import Client, Clock, KubeError, NotFoundError, key_of
from controller.runtime.client.rest import KubeRequest
from hack.podrunner.pod import PODS, Pod
from hack.podrunner.pod_status import ObservedContainer, is_pod_ready, pod_status, ready_conditions
from shared.time import format_timestamp

STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
RETRY_SECONDS: Final = 0.5

log = logging.getLogger(__name__)


class PodStatusWriter:
    """The status of one pod; of several changes only the last is written."""

    def __init__(self, pod: Pod, client: Client, clock: Clock) -> None:
        self._pod = pod
        self._client = client
        self._clock = clock
        self._observed: dict[str, ObservedContainer] = {}
        self._was_ready: bool | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    def container_changed(self, container: str, observed: ObservedContainer) -> None:
        """Record the new state of a container."""
        self._observed[container] = observed
        self._changed.set()

    async def run(self) -> None:
        """Write every change until cancelled, or until the pod does not exist."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._write()
            except NotFoundError:
                return
            except KubeError as error:
                log.warning("status_not_written", extra={"why": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
                self._changed.set()

    async def _write(self) -> None:
        """Write the status; conditions only when they change, because they have a time."""
        status, ready = (
            pod_status(self._pod, self._observed),
            is_pod_ready(self._pod, self._observed),
        )
        if ready != self._was_ready:
            status["conditions"] = ready_conditions(ready, format_timestamp(self._clock.now()))
        # The uid prevents a write to the status of a new pod with the same name.
        body = {"metadata": {"uid": self._pod.metadata.uid}, "status": status}
        path = PODS.object_path(key_of(self._pod), "status")
        request = KubeRequest("PATCH", path, {}, msgspec.json.encode(body), STRATEGIC_MERGE_PATCH)
        await self._client.rest.send(request)
        self._was_ready = ready
