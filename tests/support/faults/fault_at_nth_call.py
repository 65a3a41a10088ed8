"""An API process whose nth call goes wrong in one way, and what goes on after that."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Literal

from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.store import is_final
from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from apiserver.wiring import KubeServices
from tests.support.checks.operation_invariants import CallerResult
from tests.support.checks.operations_snapshot import OperationsSnapshot
from tests.support.faults.faulty_gateway import CallFault, FaultyGateway, ProcessKilled
from tests.support.faults.real_environment import RealEnvironment
from tests.support.faults.retrying_callers import call_once
from tests.support.wait.eventually import eventually

AfterFault = Literal["replay", "resume"]


class FaultAtCall:
    """The fault of call number `at`; all others go well."""

    def __init__(self, call_number: int, fault: CallFault) -> None:
        self._call_number = call_number
        self._fault = fault
        self._calls = itertools.count(1)
        self.was_injected = False

    def __call__(self) -> CallFault:
        is_now = next(self._calls) == self._call_number
        self.was_injected |= is_now
        return self._fault if is_now else CallFault.NONE


class FaultyRuns:
    """Sends commands to processes that are struck; `answers` is what the caller was told.

    Afterwards the caller repeats its request, or goes away and leaves it to the resumption.
    """

    def __init__(
        self, environment: RealEnvironment, randomness: Random, after_fault: AfterFault = "replay"
    ) -> None:
        self._environment = environment
        self._after_fault = after_fault
        self._processes = environment.processes(randomness)
        self.results: list[CallerResult] = []

    async def send(self, command: CreateUnit | SeedStock, fault_at_call: FaultAtCall) -> None:
        """Once, to a process that may die of it; the work behind the answer ends or dies too."""
        client = FaultyGateway(self._environment.gateway(), fault_at_call)
        try:
            async with run_process(self._processes.new(client)) as process:
                await self._call(process, command)
                if not client.is_dead:
                    await self._wait_work_ended(process, command)
        except* ProcessKilled:
            pass

    async def fault_every_call(
        self, commands: Iterator[CreateUnit | SeedStock], fault: CallFault
    ) -> int:
        """One command for each call that it makes, each to its end. How many calls there are."""
        for at in itertools.count(1):
            command, strike = next(commands), FaultAtCall(at, fault)
            await self.send(command, strike)
            await (self.replay(command) if self._after_fault == "replay" else self.resume())
            if not strike.was_injected:
                return at - 1
        raise AssertionError("there is always one call more")

    async def replay(self, command: CreateUnit | SeedStock) -> None:
        """By another process, to the end."""
        async with run_process(self._processes.new(self._environment.gateway())) as process:
            await self._call(process, command)
            await eventually(lambda: self._is_operation_final(command))

    async def resume(self) -> None:
        """All that is unfinished, by a process that nobody asks for anything."""
        async with run_process(self._processes.new(self._environment.gateway())) as process:
            await process.resumer.resume_unfinished(await process.resumer.resume_unfinished(set()))
            await eventually(self._are_operations_final)

    async def _call(self, process: KubeServices, command: CreateUnit | SeedStock) -> None:
        answer = await call_once(process, command)
        self.results += [answer] if answer else []

    async def _wait_work_ended(
        self, process: KubeServices, command: CreateUnit | SeedStock
    ) -> None:
        """Wait until the work ends in one way or another."""
        with suppress(kube_errors.KubeError, ServiceError):
            await process.operation_tasks.join(
                command.operation_id, do_nothing, timeout_seconds=30.0
            )

    async def _is_operation_final(self, command: CreateUnit | SeedStock) -> bool:
        seen = await OperationsSnapshot.take(
            self._environment.observer, self._environment.service_settings
        )
        of_it = [each for each in seen.operations if each.spec.operation_id == command.operation_id]
        return all(map(is_final, of_it))

    async def _are_operations_final(self) -> bool:
        seen = await OperationsSnapshot.take(
            self._environment.observer, self._environment.service_settings
        )
        return all(map(is_final, seen.operations))


@asynccontextmanager
async def run_process(process: KubeServices) -> AsyncIterator[KubeServices]:
    """The process with its workshop open; a group with Killed in it if it dies."""
    async with asyncio.TaskGroup() as group:
        work = group.create_task(process.operation_tasks.run())
        await asyncio.sleep(0)
        yield process
        work.cancel()


async def do_nothing() -> None:
    """What is done where nothing is under way."""
