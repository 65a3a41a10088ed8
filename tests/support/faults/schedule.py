"""One random run: callers, replicas and a controller, on the model or on a real server."""

import asyncio
from collections.abc import Iterable
from contextlib import closing, suppress
from random import Random
from typing import Protocol

from apiserver.clock import Clock
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Cluster
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS
from apiserver.wiring import Surroundings, UseCases
from controller.gpuunit.handoff import claim_validity
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.checks.operation_invariants import Rest
from tests.support.checks.operations_snapshot import Snapshot, rest_of, still
from tests.support.cluster.api_replicas import Replicas
from tests.support.cluster.processes import Processes
from tests.support.faults.faulty_gateway import Fault, Faulty
from tests.support.faults.retrying_callers import Callers
from tests.support.faults.schedule_plan import Plan, drawn

STALL_SECONDS = 12.0  # less than what counts as rest


class World(Protocol):
    """Where a run takes place."""

    @property
    def clock(self) -> Clock: ...

    @property
    def where(self) -> Surroundings: ...

    @property
    def observer(self) -> Cluster:
        """The test's own way to reach it, which waits for slow answers."""
        ...

    def cluster(self) -> Cluster:
        """The way of one of the processes to reach it; nothing goes wrong on it yet."""
        ...

    async def control(self, client: Cluster) -> None:
        """The controller's process, until it dies."""
        ...

    async def put(self, name: str, spec: str) -> str:
        """Ready stock that no operation made, such as a pool's; its uid."""
        ...

    def ever_ready(self) -> frozenset[str]:
        """The uids of stock that was ready at some time, where the world has kept them."""
        ...


class Schedule:
    """Runs a plan to its end and tells what is left."""

    def __init__(self, plan: Plan, world: World, randomness: Random) -> None:
        self._plan = plan
        self._world = world
        self._randomness = randomness
        self._objects = world.observer
        self._faulty = True
        self._processes = Processes(world.where, world.clock, randomness)
        self._replicas = Replicas(self._new_process)
        self._callers = Callers(self._replicas, world.clock, randomness)
        self._by_hand: set[str] = set()
        self._discarded: set[str] = set()
        self._removed: list[GPUUnit] = []

    async def run(self) -> Rest:
        """Everybody at once; then without faults until all is at rest."""
        await asyncio.gather(*map(self._put, range(self._plan.stock)))
        await asyncio.gather(*map(self._put_storage, range(self._plan.storages)))
        async with asyncio.TaskGroup() as group:
            processes = [self._replicas.keep_one() for _ in range(self._plan.replicas)]
            background = [group.create_task(each) for each in (self._controller(), *processes)]
            with closing(self._replicas):
                await self._everybody()
                self._faulty = False
                left = await still(self._look, self._world.clock)
            for task in background:
                task.cancel()
        return rest_of(
            left,
            self._callers.answers,
            by_hand=self._by_hand,
            discarded=self._discarded,
            removed=self._removed,
            ever_ready=self._world.ever_ready(),
        )

    async def _everybody(self) -> None:
        async with asyncio.TaskGroup() as callers:
            for caller in range(self._plan.callers_each):
                for command in self._plan.commands(caller):
                    callers.create_task(self._callers.call(command))
            callers.create_task(self._late_stock())
            callers.create_task(self._deletions())
            callers.create_task(self._discards())

    async def _look(self) -> Snapshot:
        seen = await Snapshot.of(self._objects, self._world.where)
        return seen.of_spec(self._plan.mark)

    async def _controller(self) -> None:
        """A process that is started again whenever it dies."""
        while True:
            await self._world.control(self._client())

    def _new_process(self) -> UseCases:
        return self._processes.new(self._client())

    def _client(self) -> Faulty:
        return Faulty(self._world.cluster(), self._chance, self._stand_still)

    async def _stand_still(self) -> None:
        """Long enough for others to take up what this process has begun, and to end it."""
        await self._world.clock.sleep(STALL_SECONDS)

    def _chance(self) -> Fault:
        return drawn(self._randomness, self._plan.faults if self._faulty else {})

    async def _put(self, number: int) -> None:
        name = f"{self._plan.mark}-stock-{number}"
        self._by_hand.add(await self._world.put(name, self._plan.mark))

    async def _put_storage(self, number: int) -> None:
        body = {"metadata": {"name": self._plan.storage(number)}, "spec": {"size": "1Gi"}}
        await self._objects.create(GPU_STORAGES, self._world.where.instance, body)

    async def _late_stock(self) -> None:
        """Stock that comes when some callers have been sent away."""
        for number in range(self._plan.late_stock):
            await self._pause()
            await self._put(self._plan.stock + number)

    async def _deletions(self) -> None:
        """Users who change their minds."""
        for _ in range(self._plan.deletions):
            await self._pause()
            chosen = self._chosen((await self._look()).units)
            if chosen and await self._deleted(chosen, version=""):
                self._removed.append(chosen)

    async def _discards(self) -> None:
        """Operators who delete stock that nobody has claimed."""
        for _ in range(self._plan.discards):
            await self._pause()
            stock = (await self._look()).stock
            chosen = self._chosen(each for each in stock if not claim_validity.is_claimed(each))
            if chosen and await self._deleted(chosen, chosen.metadata.resource_version):
                self._discarded.add(chosen.metadata.uid)

    async def _pause(self) -> None:
        await self._world.clock.sleep(self._randomness.uniform(0.0, 2.0))

    def _chosen(self, units: Iterable[GPUUnit]) -> GPUUnit | None:
        found = list(units)
        return self._randomness.choice(found) if found else None

    async def _deleted(self, unit: GPUUnit, version: str) -> bool:
        meta = unit.metadata
        with suppress(kube_errors.AbsentError, kube_errors.StaleError):
            place = (GPU_UNITS, meta.namespace, meta.name)
            await self._objects.delete(*place, uid=meta.uid, resource_version=version)
            return True
        return False
