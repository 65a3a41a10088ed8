"""One container: its process, which is restarted after each end, and its probes."""

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Final

import aiohttp

from controller.runtime import Clock
from hack.cluster.ports import HOST
from hack.podrunner.images import UnknownImageError
from hack.podrunner.pod import Container, HTTPGetAction, Probe
from hack.podrunner.pod_status import ObservedContainer
from shared.time import format_timestamp

STARTUP_PROBE_SECONDS: Final = 0.2
INITIAL_BACKOFF_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 30.0


class ContainerRunner:
    """The runner of one container until its stop; `on_change` gets every change of its state.

    `port_map` maps the ports of the pod to the local ones.
    """

    def __init__(
        self,
        container: Container,
        launch: Callable[[Container], Awaitable[Process]],
        port_map: Mapping[int | str, int],
        on_change: Callable[[str, ObservedContainer], None],
        clock: Clock,
    ) -> None:
        self.container = container
        self.observed = ObservedContainer()
        self._launch = launch
        self._port_map = port_map
        self._on_change = on_change
        self._clock = clock
        self._process: Process | None = None
        self._is_stopping = False

    async def run(self) -> None:
        """Start the process, and restart it after every end, with growing delays."""
        for delay in backoff_delays():
            await self._clock.sleep(delay)
            if self._is_stopping:
                return
            try:
                self._process = await self._launch(self.container)
            except UnknownImageError as error:
                self._set_observed(
                    ObservedContainer(waiting_reason="ErrImagePull", message=str(error))
                )
                return
            await self._watch_process(self._process)

    async def run_pre_stop_hook(self, seconds: float) -> None:
        """Send the preStop request before the signal, if the pod has one."""
        hook = self.container.lifecycle.pre_stop
        if hook is not None and hook.http_get is not None:
            await probe_succeeds(self._port_map, hook.http_get, seconds)

    async def stop(self, seconds: float) -> None:
        """Send SIGTERM, and SIGKILL after `seconds`."""
        self._is_stopping = True
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await self._wait_ended()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """Kill the process, and wait until it has ended."""
        self._is_stopping = True
        self._signal(signal.SIGKILL)
        await self._wait_ended()

    async def _watch_process(self, process: Process) -> None:
        is_ready = self.container.readiness_probe is None
        now = format_timestamp(self._clock.now())
        self._set_observed(replace(self.observed, started_at=now, is_ready=is_ready, message=""))
        async with asyncio.TaskGroup() as group:
            probing = [group.create_task(loop) for loop in self._probe_loops()]
            code = await process.wait()
            for task in probing:
                task.cancel()
        self._set_observed(
            ObservedContainer(
                restarts=self.observed.restarts + 1,
                exit_code=code if code >= 0 else 128 - code,  # the exit code of shells for a signal
                waiting_reason="CrashLoopBackOff",
                message="back-off restarting failed container",
            )
        )

    def _probe_loops(self) -> Iterator[Coroutine[None, None, None]]:
        readiness, liveness = self.container.readiness_probe, self.container.liveness_probe
        if readiness is not None and readiness.http_get is not None:
            yield self._probe_readiness(readiness, readiness.http_get)
        if liveness is not None and liveness.http_get is not None:
            yield self._run_probe(liveness, liveness.http_get, self._handle_liveness)

    async def _probe_readiness(self, probe: Probe, action: HTTPGetAction) -> None:
        """Probe often until the first success, because callers wait for it.

        Then probe periodically.
        """
        while not await probe_succeeds(self._port_map, action, probe.timeout_seconds):
            await self._clock.sleep(STARTUP_PROBE_SECONDS)
        self._set_ready(True)
        await self._run_probe(probe, action, self._set_ready)

    async def _run_probe(
        self, probe: Probe, action: HTTPGetAction, on_result: Callable[[bool], None]
    ) -> None:
        """Report a success at once, and failures from the threshold on."""
        failures = 0
        while True:
            await self._clock.sleep(probe.period_seconds)
            succeeded = await probe_succeeds(self._port_map, action, probe.timeout_seconds)
            failures = 0 if succeeded else failures + 1
            if succeeded or failures >= probe.failure_threshold:
                on_result(succeeded)

    def _set_ready(self, is_ready: bool) -> None:
        self._set_observed(replace(self.observed, is_ready=is_ready))

    def _handle_liveness(self, is_alive: bool) -> None:
        if not is_alive:
            self._signal(signal.SIGKILL)

    def _set_observed(self, observed: ObservedContainer) -> None:
        if observed != self.observed:
            self.observed = observed
            self._on_change(self.container.name, observed)

    def _signal(self, signal_number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal_number)

    async def _wait_ended(self) -> None:
        if self._process is not None:
            await self._process.wait()


def backoff_delays() -> Iterator[float]:
    """Yield the delays before each start: two of zero, then growing ones."""
    yield from (0.0, 0.0)
    delay = INITIAL_BACKOFF_SECONDS
    while True:
        yield delay
        delay = min(delay * 2, MAX_BACKOFF_SECONDS)


async def probe_succeeds(
    port_map: Mapping[int | str, int], action: HTTPGetAction, timeout_seconds: float
) -> bool:
    """Return whether the response comes in time and has a status below 400."""
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://{HOST}:{port_map.get(action.port, 0)}{action.path}") as response,
        ):
            return response.status < 400
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
