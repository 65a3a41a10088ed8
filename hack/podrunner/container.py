"""One container: its process, started again whenever it ends, and asked how it is."""

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Final

from controller.runtime.clock import Clock
from hack.podrunner.images import UnknownImageError
from hack.podrunner.pod import Container, HTTPGet, Probe
from hack.podrunner.pod_status import Seen
from hack.podrunner.probes import answers
from shared.k8s.conditions import timestamp

FIRST_READY_SECONDS: Final = 0.2
FIRST_BACKOFF_SECONDS: Final = 1.0
LONGEST_BACKOFF_SECONDS: Final = 30.0


class RunningContainer:
    """Runs one container of a pod until it is stopped; `tell` hears of every change.

    `ports` says which port of ours each port of the pod is, now.
    """

    def __init__(
        self,
        container: Container,
        launch: Callable[[Container], Awaitable[Process]],
        ports: Mapping[int | str, int],
        tell: Callable[[str, Seen], None],
        clock: Clock,
    ) -> None:
        self.container = container
        self.seen = Seen()
        self._launch = launch
        self._ports = ports
        self._tell = tell
        self._clock = clock
        self._process: Process | None = None
        self._is_stopping = False

    async def run(self) -> None:
        """Start it, and again after every end, later and later."""
        for delay in backoff():
            await self._clock.sleep(delay)
            if self._is_stopping:
                return
            try:
                self._process = await self._launch(self.container)
            except UnknownImageError as error:
                self._see(Seen(waiting="ErrImagePull", message=str(error)))
                return
            await self._follow(self._process)

    async def drain(self, seconds: float) -> None:
        """Make the call that comes before the signal, if there is one."""
        hook = self.container.lifecycle.pre_stop
        if hook is not None and hook.http_get is not None:
            await answers(self._ports, hook.http_get, seconds)

    async def stop(self, seconds: float) -> None:
        """SIGTERM, and SIGKILL when the time is over."""
        self._is_stopping = True
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await self._ended()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End it at once, and wait until it has."""
        self._is_stopping = True
        self._signal(signal.SIGKILL)
        await self._ended()

    async def _follow(self, process: Process) -> None:
        is_ready = self.container.readiness_probe is None
        now = timestamp(self._clock.now())
        self._see(replace(self.seen, started_at=now, is_ready=is_ready, message=""))
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(each) for each in self._questions()]
            code = await process.wait()
            for task in asking:
                task.cancel()
        self._see(
            Seen(
                restarts=self.seen.restarts + 1,
                exit_code=code if code >= 0 else 128 - code,  # as a shell counts signals
                waiting="CrashLoopBackOff",
                message="back-off restarting failed container",
            )
        )

    def _questions(self) -> Iterator[Coroutine[None, None, None]]:
        readiness, liveness = self.container.readiness_probe, self.container.liveness_probe
        if readiness is not None and readiness.http_get is not None:
            yield self._ask_whether_ready(readiness, readiness.http_get)
        if liveness is not None and liveness.http_get is not None:
            yield self._ask(liveness, liveness.http_get, self._see_alive)

    async def _ask_whether_ready(self, probe: Probe, get: HTTPGet) -> None:
        """Until it is for the first time, more often than Kubernetes can: somebody waits for it."""
        while not await answers(self._ports, get, probe.timeout_seconds):
            await self._clock.sleep(FIRST_READY_SECONDS)
        self._see_ready(True)
        await self._ask(probe, get, self._see_ready)

    async def _ask(self, probe: Probe, get: HTTPGet, tell: Callable[[bool], None]) -> None:
        """Good news at once, bad news when there was enough of it."""
        failures = 0
        while True:
            await self._clock.sleep(probe.period_seconds)
            is_good = await answers(self._ports, get, probe.timeout_seconds)
            failures = 0 if is_good else failures + 1
            if is_good or failures >= probe.failure_threshold:
                tell(is_good)

    def _see_ready(self, is_ready: bool) -> None:
        self._see(replace(self.seen, is_ready=is_ready))

    def _see_alive(self, is_alive: bool) -> None:
        if not is_alive:
            self._signal(signal.SIGKILL)

    def _see(self, seen: Seen) -> None:
        if seen != self.seen:
            self.seen = seen
            self._tell(self.container.name, seen)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def _ended(self) -> None:
        if self._process is not None:
            await self._process.wait()


def backoff() -> Iterator[float]:
    """At once, once more at once, then with growing pauses."""
    yield from (0.0, 0.0)
    delay = FIRST_BACKOFF_SECONDS
    while True:
        yield delay
        delay = min(delay * 2, LONGEST_BACKOFF_SECONDS)
