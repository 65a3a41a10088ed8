"""API processes inside the test's process, restarted when they crash."""

import asyncio
import itertools
from collections.abc import Callable
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.kube.port import KubeClient
from apiserver.wiring import KubeServices, ServiceSettings
from shared.clock import Clock
from tests.support.faults.faulty_gateway import ProcessKilled


class ApiReplicas:
    """Replicas that `new_process` creates; those in `alive` can be called."""

    def __init__(self, new_process: Callable[[], KubeServices]) -> None:
        self._new_process = new_process
        self._is_closed = False
        self.alive: list[KubeServices] = []

    def close(self) -> None:
        """Start no more processes; call this before `run_replica` is cancelled.

        A task group that is cancelled while its process crashes raises ProcessKilled alone: the
        cancellation is lost.
        """
        self._is_closed = True

    async def run_replica(self) -> None:
        """Run one replica, and restart it after each crash, until closed and cancelled."""
        while not self._is_closed:
            services = self._new_process()
            try:
                async with asyncio.TaskGroup() as process:
                    process.create_task(services.operation_tasks.run())
                    process.create_task(services.resumer.run())
                    await asyncio.sleep(0)
                    self.alive.append(services)
            except* ProcessKilled:
                pass
            finally:
                if services in self.alive:
                    self.alive.remove(services)


class KubeServicesFactory:
    """A factory of the services of processes, with ids that are unique among all of them."""

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
