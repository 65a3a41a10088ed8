"""All pods that have processes: each is given its life, and told when that is over."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope
from controller.runtime.cache.subscription import Notice
from controller.runtime.client.client import Client
from controller.runtime.client.connect import connected
from controller.runtime.clock import Clock, SystemClock
from hack.cluster.ports import FreePorts
from hack.cluster.process import NAME, mark, marked
from hack.podrunner.images import is_ours
from hack.podrunner.pod import PODS, Pod
from hack.podrunner.pod_lifecycle import PodLife

log = logging.getLogger(__name__)


class PodRunner:
    """Follows the pods of one namespace, or of all, and keeps their processes in `home`."""

    def __init__(self, client: Client, home: Path, namespace: str, clock: Clock) -> None:
        self._client = client
        self._home = home
        self._clock = clock
        randomness = random.Random()  # noqa: S311 - spreads retries and ports
        self._free_ports = FreePorts(randomness)
        metrics = InformerMetrics(CollectorRegistry())
        scope = Scope(PODS, namespace)
        self._informer = Informer(client, scope, metrics, clock, randomness)
        self._lives: dict[str, tuple[PodLife, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Run pods until cancelled; what a runner before us left behind is killed first."""
        kill_leftovers(self._home)
        async with asyncio.TaskGroup() as group:
            self._informer.subscribe(lambda notice: self._follow(notice, group))
            await self._informer.run()

    async def synced(self) -> None:
        """Wait until the pods that are there are known."""
        await self._informer.synced()

    def _follow(self, notice: Notice[Pod], group: asyncio.TaskGroup) -> None:
        if notice.new is None:
            if notice.old is not None:
                self._forget(notice.old.metadata.uid)
            return
        pod = notice.new
        if not is_ours(pod):
            return
        uid = pod.metadata.uid
        if uid not in self._lives:
            log.info("pod_started", extra={"pod": pod.metadata.name})
            life = PodLife(pod, self._client, self._home, self._clock, self._free_ports)
            self._lives[uid] = life, group.create_task(life.run())
        if pod.metadata.deletion_timestamp is not None:
            self._lives[uid][0].end(pod.metadata.deletion_grace_period_seconds)

    def _forget(self, uid: str) -> None:
        """The pod is gone, in order or by force: whatever is left of it goes too."""
        if uid in self._lives:
            _, task = self._lives.pop(uid)
            task.cancel()


def kill_leftovers(home: Path) -> None:
    """End the processes of pods whose runner has been killed."""
    for process in marked(home):
        if "/" in (mark(process, NAME) or ""):
            process.kill()


@asynccontextmanager
async def running_pods(kubeconfig: Path, home: Path, namespace: str = "") -> AsyncIterator[None]:
    """A runner for the length of the block."""
    clock = SystemClock()
    async with (
        connected(str(kubeconfig), "pod-runner", CollectorRegistry(), clock) as client,
        asyncio.TaskGroup() as group,
    ):
        runner = PodRunner(client, home, namespace, clock)
        task = group.create_task(runner.run())
        await runner.synced()
        try:
            yield
        finally:
            task.cancel()
