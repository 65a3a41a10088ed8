"""Kills of random processes of a local system, and their restart."""

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
    """A killer of servers, containers and `replicas` of the API that `make up` did not start.

    The pod runner restarts containers.
    """

    def __init__(
        self, system: LocalSystem, replicas: Mapping[str, Process], randomness: Random
    ) -> None:
        self._system = system
        self._replicas = replicas
        self._randomness = randomness

    def random_victims(self) -> list[str]:
        """Return every server and replica once, and some containers, in random order."""
        names = [*SERVER_PROCESSES, *self._replicas, *[CONTAINER] * CONTAINER_KILLS]
        self._randomness.shuffle(names)
        return names

    async def kill(self, victim: str) -> None:
        """Kill one victim at once."""
        if victim in self._replicas:
            await self._replicas[victim].kill()
        elif victim == CONTAINER:
            containers = await eventually(self._container_pids, timeout_seconds=TIMEOUT_SECONDS)
            with suppress(psutil.NoSuchProcess):  # it may have ended by itself
                psutil.Process(self._randomness.choice(containers)).kill()
        else:
            await self._system.kill(victim)

    async def restart(self, victim: str) -> None:
        """Restart a victim, as an operator does."""
        if victim in self._replicas:
            self._replicas[victim].start()
        elif victim != CONTAINER:
            await self._system.up()

    async def _container_pids(self) -> list[int]:
        running = self._system.running_pids()
        return [running[name] for name in sorted(running) if "/" in name]
