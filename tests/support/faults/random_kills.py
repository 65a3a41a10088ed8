"""Kills all over a local system in an order of chance, and what brings the victims back."""

from collections.abc import Mapping
from contextlib import suppress
from random import Random

import psutil

from hack.cluster.process import Process
from tests.support.cluster.local_system import LocalSystem
from tests.support.wait.eventually import eventually

SERVERS = ("activator", "runtime-api", "nats-server")
CONTAINER = "a container"
CONTAINERS = 3
SECONDS = 120.0


class Kills:
    """`replicas` are those of the API that `make up` does not know; pods are restarted for us."""

    def __init__(
        self, system: LocalSystem, replicas: Mapping[str, Process], randomness: Random
    ) -> None:
        self._system = system
        self._replicas = replicas
        self._randomness = randomness

    def order(self) -> list[str]:
        """Every server and replica once, and some containers."""
        names = [*SERVERS, *self._replicas, *[CONTAINER] * CONTAINERS]
        self._randomness.shuffle(names)
        return names

    async def kill(self, victim: str) -> None:
        """End one at once, in the middle of what it does."""
        if victim in self._replicas:
            await self._replicas[victim].kill()
        elif victim == CONTAINER:
            containers = await eventually(self._containers, seconds=SECONDS)
            with suppress(psutil.NoSuchProcess):  # it may have had enough by itself
                psutil.Process(self._randomness.choice(containers)).kill()
        else:
            await self._system.kill(victim)

    async def bring_back(self, victim: str) -> None:
        """What an operator does about it."""
        if victim in self._replicas:
            self._replicas[victim].start()
        elif victim != CONTAINER:
            await self._system.up()

    async def _containers(self) -> list[int]:
        running = self._system.running()
        return [running[name] for name in sorted(running) if "/" in name]
