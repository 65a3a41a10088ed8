"""Kills all over a local system in an order of chance, and what brings the victims back."""

from collections.abc import Mapping
from contextlib import suppress
from random import Random

import psutil

from hack.cluster.process import Process
from tests.support.cluster.local_system import LocalSystem
from tests.support.wait.eventually import eventually

SERVER_PROCESSES = ("activator", "runtime-api", "nats-server")
CONTAINER = "a container"
CONTAINER_KILLS = 3
TIMEOUT_SECONDS = 120.0


class RandomKiller:
    """`replicas` are those of the API that `make up` does not know; pods are restarted for us."""

    def __init__(
        self, system: LocalSystem, replicas: Mapping[str, Process], randomness: Random
    ) -> None:
        self._system = system
        self._replicas = replicas
        self._randomness = randomness

    def random_victims(self) -> list[str]:
        """Every server and replica once, and some containers."""
        names = [*SERVER_PROCESSES, *self._replicas, *[CONTAINER] * CONTAINER_KILLS]
        self._randomness.shuffle(names)
        return names

    async def kill(self, victim: str) -> None:
        """End one at once, in the middle of what it does."""
        if victim in self._replicas:
            await self._replicas[victim].kill()
        elif victim == CONTAINER:
            containers = await eventually(self._container_pids, timeout_seconds=TIMEOUT_SECONDS)
            with suppress(psutil.NoSuchProcess):  # it may have had enough by itself
                psutil.Process(self._randomness.choice(containers)).kill()
        else:
            await self._system.kill(victim)

    async def restart(self, victim: str) -> None:
        """What an operator does about it."""
        if victim in self._replicas:
            self._replicas[victim].start()
        elif victim != CONTAINER:
            await self._system.up()

    async def _container_pids(self) -> list[int]:
        running = self._system.running_pids()
        return [running[name] for name in sorted(running) if "/" in name]
