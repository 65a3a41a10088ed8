"""One random run: callers, replicas and a controller, in an order that the seed decides."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.accepted import Outcome
from apiserver.commands import CreateUnit
from apiserver.errors import ServiceError, ServiceUnavailableError
from apiserver.gateway import ClusterError, Selection
from apiserver.resources import GPU_UNITS, OPERATIONS
from apiserver.services.catalogue import Catalogue
from apiserver.services.records import LostRecordError
from apiserver.use_cases import Surroundings, UseCases
from shared.v1alpha1.gpuunit import GPUUnit
from tests.model.client import Fault, Killed, ModelClient, decoded
from tests.model.controller import ModelController
from tests.model.server import ModelServer
from tests.model.turnstile import Turnstile
from tests.model.world import INSTANCE, STOCK, SYSTEM
from tests.support.invariants import Answer, Rest

SPEC = "g1.1"
FOR_EVER = 1e6
MOST_LAG = 6  # writes by which a list that may be old is so
REST_SECONDS = 15.0  # the resumption looks every 5 s, and resumes what it sees twice


@dataclass
class Plan:
    """What a run is made of; `faults` are how often each call goes wrong, in hundredths."""

    seed: int
    stock: int = 4
    operations: int = 4
    replicas: int = 2
    callers_each: int = 2
    late_stock: int = 0
    deletions: int = 0
    faults: dict[Fault, int] = field(default_factory=dict)


class Schedule:
    """Runs a plan to its end and tells what is left."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._randomness = Random(plan.seed)
        self._turnstile = Turnstile(self._randomness)
        self._server = ModelServer(lambda: self._randomness.randrange(MOST_LAG))
        self._answers: list[Answer] = []
        self._replicas: list[UseCases] = []
        self._ids = itertools.count()
        self._faulty = True
        self._seeded: set[str] = set()
        self._removed: list[GPUUnit] = []

    async def run(self) -> Rest:
        """Everybody at once; then without faults until all is at rest."""
        for number in range(self._plan.stock):
            self._seed(number)
        async with asyncio.TaskGroup() as group:
            everything = group.create_task(self._everything())
            await self._turnstile.drive(everything)
        return Rest(
            seeded=frozenset(self._seeded),
            removed=self._removed,
            stock=self._units(STOCK),
            units=self._units(INSTANCE),
            records=[
                decoded(OPERATIONS, each)
                for each in self._server.list(OPERATIONS, SYSTEM, Selection())
            ],
            answers=self._answers,
        )

    async def _everything(self) -> None:
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(self._controller())]
            background += [group.create_task(self._replica()) for _ in range(self._plan.replicas)]
            async with asyncio.TaskGroup() as callers:
                for number in range(self._plan.operations):
                    for _ in range(self._plan.callers_each):
                        callers.create_task(self._caller(number))
                callers.create_task(self._late_stock())
                callers.create_task(self._deletions())
            self._faulty = False
            await self._rest()
            for task in background:
                task.cancel()

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

    async def _replica(self) -> None:
        """A process that is started again whenever it dies."""
        while True:
            use_cases = self._new_process()
            try:
                async with asyncio.TaskGroup() as process:
                    process.create_task(use_cases.workshop.run())
                    process.create_task(use_cases.resumption.run())
                    await asyncio.sleep(0)
                    self._replicas.append(use_cases)
            except* Killed:
                pass
            finally:
                if use_cases in self._replicas:
                    self._replicas.remove(use_cases)

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

    async def _caller(self, number: int) -> None:
        """Repeats its request until it is answered; sent away, it comes back once or twice."""
        command = CreateUnit(
            operation_id=f"op-{number}", name=f"unit-{number}", spec_name=SPEC, image="a:1"
        )
        tries = self._randomness.randrange(1, 4)
        while tries:
            await self._turnstile.sleep(self._randomness.uniform(0.0, 0.5))
            if not self._replicas:
                continue
            answer = await self._ask(self._randomness.choice(self._replicas), command)
            if answer is None:
                continue
            self._answers.append(answer)
            tries = tries - 1 if answer.code else 0

    async def _late_stock(self) -> None:
        """Stock that comes when some callers have been sent away."""
        for number in range(self._plan.late_stock):
            await self._turnstile.sleep(self._randomness.uniform(0.0, 2.0))
            self._seed(self._plan.stock + number)

    async def _deletions(self) -> None:
        """Users who change their minds."""
        for _ in range(self._plan.deletions):
            await self._turnstile.sleep(self._randomness.uniform(0.0, 2.0))
            units = self._units(INSTANCE)
            if units:
                chosen = self._randomness.choice(units)
                self._server.delete(GPU_UNITS, INSTANCE, chosen.metadata.name, "", "")
                self._removed.append(chosen)

    async def _ask(self, replica: UseCases, command: CreateUnit) -> Answer | None:
        """One request; None if the caller cannot know what became of it."""
        try:
            accepted = await replica.units.create(command)
        except (ClusterError, ServiceUnavailableError, LostRecordError, Killed):
            return None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return None  # the process that did the work is gone
        except ServiceError as error:
            return Answer(command.operation_id, is_new=False, code=error.code)
        value = accepted.value
        uid = value.metadata.uid if isinstance(value, GPUUnit) else getattr(value, "uid", "")
        return Answer(command.operation_id, accepted.outcome is Outcome.NEW, uid)

    def _client(self) -> ModelClient:
        return ModelClient(self._server, self._turnstile, self._chance())

    def _chance(self) -> Callable[[], Fault]:
        def fault() -> Fault:
            drawn = self._randomness.randrange(100)
            for each, hundredths in self._plan.faults.items() if self._faulty else ():
                if drawn < hundredths:
                    return each
                drawn -= hundredths
            return Fault.NONE

        return fault

    def _seed(self, number: int) -> None:
        body = {"metadata": {"name": f"stock-{number}"}, "spec": {"specName": SPEC, "gpu": 1}}
        made = self._server.create(GPU_UNITS, STOCK, body)
        ready = {"status": {"phase": "Ready"}}
        self._server.patch(GPU_UNITS, STOCK, f"stock-{number}", ready, "status")
        self._seeded.add(made["metadata"]["uid"])

    def _units(self, namespace: str) -> list[GPUUnit]:
        found = self._server.list(GPU_UNITS, namespace, Selection())
        return [decoded(GPU_UNITS, each) for each in found]
