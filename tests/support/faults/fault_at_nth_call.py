"""An API process whose nth call goes wrong in one way, and what goes on after that."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Literal

from apiserver.commands import CreateUnit, SeedStock
from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.store import is_final
from apiserver.wiring import UseCases
from tests.support.checks.operation_invariants import Answer
from tests.support.checks.operations_snapshot import Snapshot
from tests.support.cluster.real_environment import RealWorld
from tests.support.faults.faulty_gateway import Fault, Faulty, Killed
from tests.support.faults.retrying_callers import ask
from tests.support.wait.eventually import eventually

Ending = Literal["replay", "resume"]


class Strike:
    """The fault of call number `at`; all others go well."""

    def __init__(self, at: int, fault: Fault) -> None:
        self._at = at
        self._fault = fault
        self._calls = itertools.count(1)
        self.has_come = False

    def __call__(self) -> Fault:
        is_now = next(self._calls) == self._at
        self.has_come |= is_now
        return self._fault if is_now else Fault.NONE


class Struck:
    """Sends commands to processes that are struck; `answers` is what the caller was told.

    Afterwards the caller repeats its request, or goes away and leaves it to the resumption.
    """

    def __init__(self, world: RealWorld, randomness: Random, ending: Ending = "replay") -> None:
        self._world = world
        self._ending = ending
        self._processes = world.processes(randomness)
        self.answers: list[Answer] = []

    async def send(self, command: CreateUnit | SeedStock, strike: Strike) -> None:
        """Once, to a process that may die of it; the work behind the answer ends or dies too."""
        client = Faulty(self._world.cluster(), strike)
        try:
            async with alive(self._processes.new(client)) as process:
                await self._keep(process, command)
                if not client.is_dead:
                    await self._end(process, command)
        except* Killed:
            pass

    async def strike_all(self, commands: Iterator[CreateUnit | SeedStock], fault: Fault) -> int:
        """One command for each call that it makes, each to its end. How many calls there are."""
        for at in itertools.count(1):
            command, strike = next(commands), Strike(at, fault)
            await self.send(command, strike)
            await (self.replay(command) if self._ending == "replay" else self.resume())
            if not strike.has_come:
                return at - 1
        raise AssertionError("there is always one call more")

    async def replay(self, command: CreateUnit | SeedStock) -> None:
        """By another process, to the end."""
        async with alive(self._processes.new(self._world.cluster())) as process:
            await self._keep(process, command)
            await eventually(lambda: self._is_over(command))

    async def resume(self) -> None:
        """All that is unfinished, by a process that nobody asks for anything."""
        async with alive(self._processes.new(self._world.cluster())) as process:
            await process.resumption.resume(await process.resumption.resume(set()))
            await eventually(self._nothing_is_open)

    async def _keep(self, process: UseCases, command: CreateUnit | SeedStock) -> None:
        answer = await ask(process, command)
        self.answers += [answer] if answer else []

    async def _end(self, process: UseCases, command: CreateUnit | SeedStock) -> None:
        """Wait until the work ends in one way or another."""
        with suppress(kube_errors.ClusterError, ServiceError):
            await process.workshop.join(command.operation_id, nothing, within=30.0)

    async def _is_over(self, command: CreateUnit | SeedStock) -> bool:
        seen = await Snapshot.of(self._world.observer, self._world.where)
        of_it = [each for each in seen.records if each.spec.operation_id == command.operation_id]
        return all(map(is_final, of_it))

    async def _nothing_is_open(self) -> bool:
        seen = await Snapshot.of(self._world.observer, self._world.where)
        return all(map(is_final, seen.records))


@asynccontextmanager
async def alive(process: UseCases) -> AsyncIterator[UseCases]:
    """The process with its workshop open; a group with Killed in it if it dies."""
    async with asyncio.TaskGroup() as group:
        work = group.create_task(process.workshop.run())
        await asyncio.sleep(0)
        yield process
        work.cancel()


async def nothing() -> None:
    """What is done where nothing is under way."""
