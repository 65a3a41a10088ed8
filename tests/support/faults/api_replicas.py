"""API processes inside the test's own, each started again whenever it dies."""

import asyncio
import itertools
from collections.abc import Callable
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.kube.port import KubeClient
from apiserver.wiring import KubeServices, ServiceSettings
from tests.support.faults.faulty_gateway import ProcessKilled


class ApiReplicas:
    """`alive` are those that can be asked; `make` starts a new process."""

    def __init__(self, new_process: Callable[[], KubeServices]) -> None:
        self._make = new_process
        self._is_closed = False
        self.alive: list[KubeServices] = []

    def close(self) -> None:
        """Start no more processes; call this before `keep_one` is cancelled.

        A task group that is cancelled while its process dies raises Killed alone: the cancellation
        is lost.
        """
        self._is_closed = True

    async def run_replica(self) -> None:
        """Have one more process, until closed and cancelled."""
        while not self._is_closed:
            use_cases = self._make()
            try:
                async with asyncio.TaskGroup() as process:
                    process.create_task(use_cases.operation_tasks.run())
                    process.create_task(use_cases.resumer.run())
                    await asyncio.sleep(0)
                    self.alive.append(use_cases)
            except* ProcessKilled:
                pass
            finally:
                if use_cases in self.alive:
                    self.alive.remove(use_cases)


class KubeServicesFactory:
    """Makes the use cases of one process after the other."""

    def __init__(self, service_settings: ServiceSettings, clock: Clock, randomness: Random) -> None:
        self._service_settings = service_settings
        self._clock = clock
        self._randomness = randomness
        self._ids = itertools.count()

    def new(self, client: KubeClient) -> KubeServices:
        return KubeServices(
            client,
            self._service_settings,
            CollectorRegistry(),
            self._clock,
            self._randomness,
            lambda: f"id-{next(self._ids)}",
        )
