"""One random schedule: callers, API replicas and a controller, on the model or on a real server."""

import asyncio
from collections.abc import Iterable
from contextlib import closing, suppress
from random import Random
from typing import Protocol

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import KubeClient
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS
from apiserver.wiring import KubeServices, ServiceSettings
from shared.clock import Clock
from shared.v1alpha1 import stock_claim
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.checks.operation_invariants import FinalState
from tests.support.checks.operations_snapshot import OperationsSnapshot, final_state, wait_unchanged
from tests.support.faults.api_replicas import ApiReplicas, KubeServicesFactory
from tests.support.faults.faulty_gateway import CallFault, FaultyGateway
from tests.support.faults.retrying_callers import RetryingCallers
from tests.support.faults.schedule_plan import SchedulePlan, draw_fault

DELAY_FAULT_SECONDS = 12.0  # less than QUIET_SECONDS


class ScheduleEnvironment(Protocol):
    """The environment of a schedule."""

    @property
    def clock(self) -> Clock: ...

    @property
    def service_settings(self) -> ServiceSettings: ...

    @property
    def observer(self) -> KubeClient:
        """Return the test's own client, which waits for slow responses."""
        ...

    def gateway(self) -> KubeClient:
        """Return the client of one process, still without faults."""
        ...

    async def run_controller(self, client: KubeClient) -> None:
        """Run the controller until it crashes."""
        ...

    async def create_ready_stock(self, name: str, spec: str) -> str:
        """Create ready stock without an operation, such as a pool's, and return its uid."""
        ...

    def recorded_ready_uids(self) -> frozenset[str]:
        """Return the uids of all stock that was ever ready, if they are recorded."""
        ...


class Schedule:
    """The run of a plan to its end."""

    def __init__(
        self, plan: SchedulePlan, environment: ScheduleEnvironment, randomness: Random
    ) -> None:
        self._plan = plan
        self._environment = environment
        self._randomness = randomness
        self._objects = environment.observer
        self._has_faults = True
        self._processes = KubeServicesFactory(
            environment.service_settings, environment.clock, randomness
        )
        self._replicas = ApiReplicas(self._new_process)
        self._callers = RetryingCallers(self._replicas, environment.clock, randomness)
        self._created_by_hand: set[str] = set()
        self._discarded: set[str] = set()
        self._removed: list[GPUUnit] = []

    async def run(self) -> FinalState:
        """Run all callers, then wait without faults until nothing changes; return the state."""
        await asyncio.gather(*map(self._create_stock, range(self._plan.stock)))
        await asyncio.gather(*map(self._create_storage, range(self._plan.storages)))
        async with asyncio.TaskGroup() as group:
            processes = [self._replicas.run_replica() for _ in range(self._plan.replicas)]
            background = [group.create_task(run) for run in (self._run_controller(), *processes)]
            with closing(self._replicas):
                await self._run_callers()
                self._has_faults = False
                snapshot = await wait_unchanged(self._snapshot, self._environment.clock)
            for task in background:
                task.cancel()
        return final_state(
            snapshot,
            self._callers.results,
            created_by_hand=self._created_by_hand,
            discarded=self._discarded,
            removed=self._removed,
            ever_ready=self._environment.recorded_ready_uids(),
        )

    async def _run_callers(self) -> None:
        async with asyncio.TaskGroup() as callers:
            for caller in range(self._plan.callers_each):
                for command in self._plan.commands(caller):
                    callers.create_task(self._callers.call(command))
            callers.create_task(self._create_late_stock())
            callers.create_task(self._delete_units())
            callers.create_task(self._delete_stock())

    async def _snapshot(self) -> OperationsSnapshot:
        snapshot = await OperationsSnapshot.take(self._objects, self._environment.service_settings)
        return snapshot.only_spec(self._plan.prefix)

    async def _run_controller(self) -> None:
        """Run the controller, and restart it whenever it crashes."""
        while True:
            await self._environment.run_controller(self._new_gateway())

    def _new_process(self) -> KubeServices:
        return self._processes.new(self._new_gateway())

    def _new_gateway(self) -> FaultyGateway:
        return FaultyGateway(self._environment.gateway(), self._draw_fault, self._stall)

    async def _stall(self) -> None:
        """Pause a process long enough for others to resume its work and to finish it."""
        await self._environment.clock.sleep(DELAY_FAULT_SECONDS)

    def _draw_fault(self) -> CallFault:
        return draw_fault(self._randomness, self._plan.faults if self._has_faults else {})

    async def _create_stock(self, number: int) -> None:
        name = f"{self._plan.prefix}-stock-{number}"
        self._created_by_hand.add(
            await self._environment.create_ready_stock(name, self._plan.prefix)
        )

    async def _create_storage(self, number: int) -> None:
        body = {"metadata": {"name": self._plan.storage_name(number)}, "spec": {"size": "1Gi"}}
        await self._objects.create(
            GPU_STORAGES, self._environment.service_settings.instance_namespace, body
        )

    async def _create_late_stock(self) -> None:
        """Create stock after some callers were refused."""
        for number in range(self._plan.late_stock):
            await self._pause()
            await self._create_stock(self._plan.stock + number)

    async def _delete_units(self) -> None:
        """Delete units, as users do."""
        for _ in range(self._plan.deletions):
            await self._pause()
            unit = self._choose_unit((await self._snapshot()).units)
            if unit and await self._try_delete(unit, version=""):
                self._removed.append(unit)

    async def _delete_stock(self) -> None:
        """Delete unclaimed stock, as operators do."""
        for _ in range(self._plan.discards):
            await self._pause()
            stock = (await self._snapshot()).stock
            unit = self._choose_unit(unit for unit in stock if not stock_claim.is_claimed(unit))
            if unit and await self._try_delete(unit, unit.metadata.resource_version):
                self._discarded.add(unit.metadata.uid)

    async def _pause(self) -> None:
        await self._environment.clock.sleep(self._randomness.uniform(0.0, 2.0))

    def _choose_unit(self, units: Iterable[GPUUnit]) -> GPUUnit | None:
        candidates = list(units)
        return self._randomness.choice(candidates) if candidates else None

    async def _try_delete(self, unit: GPUUnit, version: str) -> bool:
        meta = unit.metadata
        with suppress(kube_errors.NotFoundError, kube_errors.ConflictError):
            path = (GPU_UNITS, meta.namespace, meta.name)
            await self._objects.delete(*path, uid=meta.uid, resource_version=version)
            return True
        return False
