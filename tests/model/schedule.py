"""One random run: callers, replicas and a controller, in an order that the seed decides."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.commands import CreateUnit, SeedStock
from apiserver.gateway import Selection
from apiserver.resources import GPU_UNITS, OPERATIONS
from apiserver.services.catalogue import Catalogue
from apiserver.use_cases import Surroundings, UseCases
from controller.gpuunit import claim
from shared.v1alpha1.gpuunit import GPUUnit
from tests.model.client import ModelClient, decoded
from tests.model.controller import ModelController
from tests.model.server import ModelServer
from tests.model.turnstile import Turnstile
from tests.model.world import INSTANCE, STOCK, SYSTEM
from tests.support.callers import Callers
from tests.support.faulty import Fault, Faulty, Killed
from tests.support.invariants import Rest
from tests.support.replicas import Replicas

SPEC = "g1.1"
FOR_EVER = 1e6
REST_SECONDS = 15.0  # the resumption looks every 5 s, and resumes what it sees twice


@dataclass
class Plan:
    """What a run is made of; `faults` are how often each call goes wrong, in hundredths.

    `seeds` are the sizes of the seeding operations.
    """

    seed: int
    stock: int = 4
    operations: int = 4
    replicas: int = 2
    callers_each: int = 2
    late_stock: int = 0
    deletions: int = 0
    seeds: tuple[int, ...] = ()
    discards: int = 0
    faults: dict[Fault, int] = field(default_factory=dict)


class Schedule:
    """Runs a plan to its end and tells what is left."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._randomness = Random(plan.seed)
        self._turnstile = Turnstile(self._randomness)
        self._server = ModelServer()
        self._replicas = Replicas(self._new_process)
        self._callers = Callers(self._replicas, self._turnstile, self._randomness)
        self._ids = itertools.count()
        self._faulty = True
        self._by_hand: set[str] = set()
        self._discarded: set[str] = set()
        self._removed: list[GPUUnit] = []

    async def run(self) -> Rest:
        """Everybody at once; then without faults until all is at rest."""
        for number in range(self._plan.stock):
            self._put(number)
        async with asyncio.TaskGroup() as group:
            everything = group.create_task(self._everything())
            await self._turnstile.drive(everything)
        records = self._server.list(OPERATIONS, SYSTEM, Selection())
        return Rest(
            seeded=self._ever_ready(),
            by_hand=frozenset(self._by_hand),
            discarded=frozenset(self._discarded),
            removed=self._removed,
            stock=self._units(STOCK),
            units=self._units(INSTANCE),
            records=[decoded(OPERATIONS, each) for each in records],
            answers=self._callers.answers,
        )

    async def _everything(self) -> None:
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(self._controller())]
            for _ in range(self._plan.replicas):
                background.append(group.create_task(self._replicas.keep_one()))
            async with asyncio.TaskGroup() as callers:
                for _ in range(self._plan.callers_each):
                    for command in self._commands():
                        callers.create_task(self._callers.call(command))
                callers.create_task(self._late_stock())
                callers.create_task(self._deletions())
                callers.create_task(self._discards())
            self._faulty = False
            await self._rest()
            for task in background:
                task.cancel()

    def _commands(self) -> list[CreateUnit | SeedStock]:
        seeds = [
            SeedStock(f"seed-{number}", SPEC, replicas, memory="1Gi", gpu=1)
            for number, replicas in enumerate(self._plan.seeds)
        ]
        creates = [
            CreateUnit(f"op-{number}", f"unit-{number}", SPEC, "a:1")
            for number in range(self._plan.operations)
        ]
        return [*seeds, *creates]

    async def _rest(self) -> None:
        """Until no version changes any more."""
        before = None
        while before != (now := self._versions()):
            before = now
            await self._turnstile.sleep(REST_SECONDS)

    def _versions(self) -> list[str]:
        return sorted(each["metadata"]["resourceVersion"] for each in self._server.objects.values())

    async def _controller(self) -> None:
        """A process that is started again whenever it dies."""
        while True:
            with suppress(Killed):
                await ModelController(self._client(), self._turnstile).run()

    def _new_process(self) -> UseCases:
        where = Surroundings(STOCK, INSTANCE, SYSTEM, Catalogue(), FOR_EVER)
        return UseCases(
            self._client(),
            where,
            CollectorRegistry(),
            self._turnstile,
            self._randomness,
            lambda: f"id-{next(self._ids)}",
        )

    async def _late_stock(self) -> None:
        """Stock that comes when some callers have been sent away."""
        for number in range(self._plan.late_stock):
            await self._turnstile.sleep(self._randomness.uniform(0.0, 2.0))
            self._put(self._plan.stock + number)

    async def _deletions(self) -> None:
        """Users who change their minds."""
        for _ in range(self._plan.deletions):
            await self._turnstile.sleep(self._randomness.uniform(0.0, 2.0))
            units = self._units(INSTANCE)
            if units:
                chosen = self._randomness.choice(units)
                self._server.delete(GPU_UNITS, INSTANCE, chosen.metadata.name, "", "")
                self._removed.append(chosen)

    async def _discards(self) -> None:
        """Operators who delete stock that nobody has claimed."""
        for _ in range(self._plan.discards):
            await self._turnstile.sleep(self._randomness.uniform(0.0, 2.0))
            unclaimed = [each for each in self._units(STOCK) if not claim.is_claimed(each)]
            if unclaimed:
                meta = self._randomness.choice(unclaimed).metadata
                self._server.delete(GPU_UNITS, STOCK, meta.name, "", "")
                self._discarded.add(meta.uid)

    def _client(self) -> Faulty:
        return Faulty(ModelClient(self._server, self._turnstile), self._chance())

    def _chance(self) -> Callable[[], Fault]:
        return lambda: drawn(self._randomness, self._plan.faults if self._faulty else {})

    def _put(self, number: int) -> None:
        """Stock that is there without an operation, such as a pool's."""
        body = {"metadata": {"name": f"stock-{number}"}, "spec": {"specName": SPEC, "gpu": 1}}
        made = self._server.create(GPU_UNITS, STOCK, body)
        ready = {"status": {"phase": "Ready"}}
        self._server.patch(GPU_UNITS, STOCK, f"stock-{number}", ready, "status")
        self._by_hand.add(made["metadata"]["uid"])

    def _units(self, namespace: str) -> list[GPUUnit]:
        found = self._server.list(GPU_UNITS, namespace, Selection())
        return [decoded(GPU_UNITS, each) for each in found]

    def _ever_ready(self) -> frozenset[str]:
        """On the model nothing stops being ready before it is deleted."""
        everything = (*self._server.objects.values(), *self._server.deleted)
        return frozenset(
            each["metadata"]["uid"]
            for each in everything
            if each["metadata"]["namespace"] == STOCK
            and each.get("status", {}).get("phase") == "Ready"
        )


def drawn(randomness: Random, chances: dict[Fault, int]) -> Fault:
    """One of the faults, or none; chances are in hundredths."""
    number = randomness.randrange(100)
    for fault, hundredths in chances.items():
        if number < hundredths:
            return fault
        number -= hundredths
    return Fault.NONE
