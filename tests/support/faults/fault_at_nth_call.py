"""An API process whose nth call of Kubernetes fails, and the replay or resume after it."""

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
    """The fault of call number `call_number`; all others succeed."""

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
    """Runs of commands on faulty processes, with the results of the caller.

    After a fault the caller repeats its request ("replay"), or leaves the operation to the
    resumption ("resume").
    """

    def __init__(
        self, environment: RealEnvironment, randomness: Random, after_fault: AfterFault = "replay"
    ) -> None:
        self._environment = environment
        self._after_fault = after_fault
        self._processes = environment.processes(randomness)
        self.results: list[CallerResult] = []

    async def send(self, command: CreateUnit | SeedStock, fault_at_call: FaultAtCall) -> None:
        """Send a command once to a process that may crash; wait until its work has ended."""
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
        """Send a command for each call, with a fault at it; return the number of calls."""
        for at in itertools.count(1):
            command, fault_at_call = next(commands), FaultAtCall(at, fault)
            await self.send(command, fault_at_call)
            await (self.replay(command) if self._after_fault == "replay" else self.resume())
            if not fault_at_call.was_injected:
                return at - 1
        raise AssertionError("itertools.count never ends")

    async def replay(self, command: CreateUnit | SeedStock) -> None:
        """Repeat a command on another process, and wait until its operation is final."""
        async with run_process(self._processes.new(self._environment.gateway())) as process:
            await self._call(process, command)
            await eventually(lambda: self._is_operation_final(command))

    async def resume(self) -> None:
        """Resume all unfinished operations on a process that has no callers."""
        async with run_process(self._processes.new(self._environment.gateway())) as process:
            await process.resumer.resume_unfinished(await process.resumer.resume_unfinished(set()))
            await eventually(self._are_operations_final)

    async def _call(self, process: KubeServices, command: CreateUnit | SeedStock) -> None:
        result = await call_once(process, command)
        self.results += [result] if result else []

    async def _wait_work_ended(
        self, process: KubeServices, command: CreateUnit | SeedStock
    ) -> None:
        """Wait until the work of the command ends, with or without an error."""
        with suppress(kube_errors.KubeError, ServiceError):
            await process.operation_tasks.join(
                command.operation_id, do_nothing, timeout_seconds=30.0
            )

    async def _is_operation_final(self, command: CreateUnit | SeedStock) -> bool:
        snapshot = await OperationsSnapshot.take(
            self._environment.observer, self._environment.service_settings
        )
        operations = [
            operation
            for operation in snapshot.operations
            if operation.spec.operation_id == command.operation_id
        ]
        return all(map(is_final, operations))

    async def _are_operations_final(self) -> bool:
        snapshot = await OperationsSnapshot.take(
            self._environment.observer, self._environment.service_settings
        )
        return all(map(is_final, snapshot.operations))


@asynccontextmanager
async def run_process(process: KubeServices) -> AsyncIterator[KubeServices]:
    """Run the background tasks of a process for the length of the block.

    Raises a group with ProcessKilled if the process crashes.
    """
    async with asyncio.TaskGroup() as group:
        work = group.create_task(process.operation_tasks.run())
        await asyncio.sleep(0)
        yield process
        work.cancel()


async def do_nothing() -> None:
    """Return at once; used as the work if none is running."""
