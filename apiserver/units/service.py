"""Users' units: made from stock, looked at, changed and deleted."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from apiserver.clock import Clock
from apiserver.commands import ChangeUnit, CreateUnit, ListUnits
from apiserver.details import request_details
from apiserver.errors import (
    InvalidRequestError,
    NotFoundError,
    PreconditionFailedError,
)
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Page, Selection
from apiserver.kube.resources import GPU_UNITS
from apiserver.kube.revision import Revision, revision_of
from apiserver.operations.idempotency import Requests
from apiserver.operations.result import Accepted, DeletedObject, Outcome
from apiserver.units.create import Creation, Start
from apiserver.units.patch import change_patch, changed_spec
from apiserver.units.storage_locks import MountLocks
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems, workload_problems

# More at once would not be done sooner: they would only take each other's time.
MOST_AT_ONCE: Final = 32
# Some watches end at once, and then the next one would too.
WATCH_PAUSE: Final = 1.0
SETTLED: Final = frozenset({UnitPhase.READY.value, UnitPhase.FAILED.value})


class UnitService:
    """The use cases of users' units."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        creation: Creation,
        locks: MountLocks,
        requests: Requests,
        clock: Clock,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._creation = creation
        self._locks = locks
        self._requests = requests
        self._clock = clock
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)

    async def create(self, command: CreateUnit) -> Accepted[GPUUnit | DeletedObject | Operation]:
        """Turn ready stock into a unit, once for all requests of the operation."""
        due = self._requests.due()
        async with self._turns:
            start = await self._creation.begin(command)
            if start.begun.is_new:
                return await self._outcome(command, start, due)
        return await self._outcome(command, start, due)  # may wait for others, and needs no turn

    async def list(self, query: ListUnits) -> Page[GPUUnit]:
        """One page of units."""
        return await self._objects.list(GPU_UNITS, self._namespace, selection(query))

    async def get(self, name: str) -> GPUUnit:
        """The unit as it is now."""
        try:
            return await self._objects.get(GPU_UNITS, self._namespace, name)
        except kube_errors.AbsentError:
            raise absent(name) from None

    async def wait_ready(self, name: str, seconds: float) -> GPUUnit:
        """The unit once it is Ready or Failed for its generation, or as it is after `seconds`."""
        unit = await self.get(name)
        try:
            async with asyncio.timeout(seconds), aclosing(self._versions(name)) as versions:
                while not is_settled(unit):
                    unit = await anext(versions)
        except TimeoutError:
            return unit
        return unit

    async def change(self, command: ChangeUnit) -> GPUUnit:
        """Write what was given, if the unit is still the one that the caller has seen."""
        while True:
            unit = await self.get(command.name)
            require_seen(unit, command.if_match)
            spec = changed_spec(unit, command)
            require_valid(spec)
            await self._locks.require_free(unit, spec.storage_mounts)
            patch = change_patch(unit, command)
            try:
                return await self._objects.patch(GPU_UNITS, self._namespace, command.name, patch)
            except kube_errors.StaleError:
                continue  # a status was written in between, or another change: look again
            except kube_errors.AbsentError:
                raise absent(command.name) from None

    async def delete(self, name: str, if_match: tuple[Revision, ...] | None = None) -> None:
        """Ask for the deletion of what the caller has seen; the children go with it."""
        while True:
            seen = {} if if_match is None else await self._seen(name, if_match)
            try:
                return await self._objects.delete(GPU_UNITS, self._namespace, name, **seen)
            except kube_errors.StaleError:
                continue  # a status was written in between, or another unit has the name
            except kube_errors.AbsentError:
                raise absent(name) from None

    async def _seen(self, name: str, if_match: tuple[Revision, ...]) -> dict[str, str]:
        """The version of the unit that the caller means; Kubernetes compares no generations."""
        meta = require_seen(await self.get(name), if_match).metadata
        return {"uid": meta.uid, "resource_version": meta.resource_version}

    async def _outcome(
        self, command: CreateUnit, start: Start, due: float
    ) -> Accepted[GPUUnit | DeletedObject | Operation]:
        begun = await self._requests.restarted(start.begun)

        async def work(record: Operation) -> Operation:
            return await self._creation.finish(record, command, start.hand)

        accepted = await self._requests.outcome(begun, work, due)
        if accepted.outcome is Outcome.UNFINISHED:
            return accepted
        return Accepted(await self._made(accepted.value, start.hand.made), accepted.outcome)

    async def _versions(self, name: str) -> AsyncGenerator[GPUUnit, None]:
        """The unit as it is and as it becomes, for ever; NotFoundError when it is gone.

        A list has the version of now; the unit's own may be older than what the server can watch.
        """
        only = Selection(fields=f"metadata.name={name}")
        while True:
            listed = await self._objects.list(GPU_UNITS, self._namespace, only)
            if not listed.items:
                raise absent(name)
            yield listed.items[0]
            changes = self._objects.watch(GPU_UNITS, self._namespace, name, listed.version)
            async with aclosing(changes):
                async for found in changes:
                    if found is None:
                        raise absent(name)
                    yield found
            await self._clock.sleep(WATCH_PAUSE)

    async def _made(self, record: Operation, at_hand: GPUUnit | None) -> GPUUnit | DeletedObject:
        """The unit that the record holds; one of another uid is not it."""
        made = record.status.objects[0]
        if at_hand is not None and at_hand.metadata.uid == made.uid:
            return at_hand
        try:
            unit = await self._objects.get(GPU_UNITS, made.namespace, made.name)
        except kube_errors.AbsentError:
            unit = None
        if unit is not None and unit.metadata.uid == made.uid:
            return unit
        return DeletedObject(made.name, made.namespace, made.uid, record.spec.operation_id)


def selection(query: ListUnits) -> Selection:
    """Filters are the server's work."""
    fields = {"spec.specName": query.spec_name, "status.phase": query.phase}
    return Selection(
        labels=query.label,
        fields=",".join(f"{name}={value}" for name, value in fields.items() if value),
        limit=query.limit,
        token=query.token,
    )


def is_settled(unit: GPUUnit) -> bool:
    """Whether waiting longer changes nothing."""
    status = unit.status
    is_current = status.observed_generation == unit.metadata.generation
    return is_current and status.phase in SETTLED


def require_seen(unit: GPUUnit, if_match: tuple[Revision, ...] | None) -> GPUUnit:
    """The unit, if it is at one of these revisions; None is whatever it is at."""
    if if_match is not None and revision_of(unit.metadata) not in if_match:
        raise PreconditionFailedError("the unit has changed since it was read")
    return unit


def require_valid(spec: GPUUnitSpec) -> None:
    """Refuse what Kubernetes would refuse later."""
    problems = [
        *workload_problems(spec),
        *access_problems(spec),
        *mount_problems(spec),
        *serverless_problems(spec),
    ]
    if problems:
        raise InvalidRequestError("the unit would be invalid", details=request_details(problems))


def absent(name: str) -> NotFoundError:
    return NotFoundError(f"there is no unit {name!r}")
