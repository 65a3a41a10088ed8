"""The runner of all pods that have processes.

It starts, stops and deletes them as the API server says.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from controller.runtime import (
    ChangeNotification,
    Client,
    Clock,
    Informer,
    InformerMetrics,
    SystemClock,
    WatchScope,
)
from controller.runtime.client.connect import open_client
from hack.cluster.ports import FreePorts
from hack.cluster.process import PROCESS_NAME_VARIABLE, marked_processes, read_mark
from hack.podrunner.images import runs_as_processes
from hack.podrunner.pod import PODS, Pod
from hack.podrunner.pod_lifecycle import PodLifecycle

log = logging.getLogger(__name__)


class PodRunner:
    """The runner of the pods of one namespace, or of all namespaces."""

    def __init__(self, client: Client, state_dir: Path, namespace: str, clock: Clock) -> None:
        self._client = client
        self._state_dir = state_dir
        self._clock = clock
        randomness = random.Random()  # noqa: S311 - spreads retries and ports
        self._free_ports = FreePorts(randomness)
        metrics = InformerMetrics(CollectorRegistry())
        scope = WatchScope(PODS, namespace)
        self._informer = Informer(client, scope, metrics, clock, randomness)
        self._lifecycles: dict[str, tuple[PodLifecycle, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Run pods until cancelled; first kill the processes that an earlier runner left."""
        kill_leftovers(self._state_dir)
        async with asyncio.TaskGroup() as group:
            self._informer.subscribe(lambda notice: self._handle_notice(notice, group))
            await self._informer.run()

    async def wait_synced(self) -> None:
        """Wait until the cache contains the existing pods."""
        await self._informer.synced()

    def _handle_notice(self, notice: ChangeNotification[Pod], group: asyncio.TaskGroup) -> None:
        if notice.new is None:
            if notice.old is not None:
                self._handle_deletion(notice.old.metadata.uid)
            return
        pod = notice.new
        if not runs_as_processes(pod):
            return
        uid = pod.metadata.uid
        if uid not in self._lifecycles:
            log.info("pod_started", extra={"pod": pod.metadata.name})
            lifecycle = PodLifecycle(
                pod, self._client, self._state_dir, self._clock, self._free_ports
            )
            self._lifecycles[uid] = lifecycle, group.create_task(lifecycle.run())
        if pod.metadata.deletion_timestamp is not None:
            self._lifecycles[uid][0].terminate(pod.metadata.deletion_grace_period_seconds)

    def _handle_deletion(self, uid: str) -> None:
        """Stop the remaining processes of a deleted pod."""
        if uid in self._lifecycles:
            _, task = self._lifecycles.pop(uid)
            task.cancel()


def kill_leftovers(state_dir: Path) -> None:
    """Kill the processes of pods whose runner was killed."""
    for process in marked_processes(state_dir):
        if "/" in (read_mark(process, PROCESS_NAME_VARIABLE) or ""):
            process.kill()


@asynccontextmanager
async def run_pods(kubeconfig: Path, state_dir: Path, namespace: str = "") -> AsyncIterator[None]:
    """Run pods for the length of the block."""
    clock = SystemClock()
    async with (
        open_client(str(kubeconfig), "pod-runner", CollectorRegistry(), clock) as client,
        asyncio.TaskGroup() as group,
    ):
        runner = PodRunner(client, state_dir, namespace, clock)
        task = group.create_task(runner.run())
        await runner.wait_synced()
        try:
            yield
        finally:
            task.cancel()
