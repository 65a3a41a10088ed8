"""Users' units: created from stock, read, changed and deleted."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from apiserver.errors import (
    InvalidRequestError,
    problem_details,
)
from apiserver.kube.port import JsonObject, ListOptions, ObjectClient, Page
from apiserver.kube.resources import GPU_UNITS, Revision
from apiserver.operations.result import DeletedObject, OperationResult
from apiserver.resource_store import ResourceStore
from apiserver.units.commands import ChangeUnit, CreateUnit, ListUnits
from apiserver.units.create import UnitCreator
from apiserver.units.patch import change_patch, changed_spec
from apiserver.units.storage_locks import StorageLocks
from shared.clock import Clock
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems, workload_problems

# Some watches end at once, and the next one would too.
WATCH_RETRY_SECONDS: Final = 1.0
SETTLED_PHASES: Final = frozenset({UnitPhase.READY.value, UnitPhase.FAILED.value})


class UnitService:
    """Creates, reads, changes and deletes users' units."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        creator: UnitCreator,
        storage_locks: StorageLocks,
        clock: Clock,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._units = ResourceStore(objects, GPU_UNITS, namespace, "unit")
        self._creator = creator
        self._storage_locks = storage_locks
        self._clock = clock

    async def create(
        self, command: CreateUnit
    ) -> OperationResult[GPUUnit | DeletedObject | Operation]:
        """Turn ready stock into a unit, once for all requests of the operation."""
        return await self._creator.create(command)

    async def list(self, query: ListUnits) -> Page[GPUUnit]:
        """Return one page of units; ContinueTokenExpiredError."""
        return await self._units.list(list_options(query))

    async def get(self, name: str) -> GPUUnit:
        """Return the unit as it is now; NotFoundError."""
        return await self._units.get(name)

    async def wait_ready(self, name: str, timeout_seconds: float) -> GPUUnit:
        """Return the unit once it is Ready or Failed for its generation, or at the timeout."""
        unit = await self.get(name)
        try:
            async with (
                asyncio.timeout(timeout_seconds),
                aclosing(self._watch_versions(name)) as versions,
            ):
                while not is_settled(unit):
                    unit = await anext(versions)
        except TimeoutError:
            return unit
        return unit

    async def change(self, command: ChangeUnit) -> GPUUnit:
        """Write the given fields; PreconditionFailedError if the caller saw another revision."""

        async def make_patch(unit: GPUUnit) -> JsonObject:
            spec = changed_spec(unit, command)
            require_valid_unit(spec)
            await self._storage_locks.require_available(unit, spec.storage_mounts)
            return change_patch(unit, command)

        return await self._units.patch(command.name, make_patch, command.if_match)

    async def delete(self, name: str, if_match: tuple[Revision, ...] | None = None) -> None:
        """Delete the unit with its children; PreconditionFailedError for another revision."""

        def check(unit: GPUUnit) -> None:
            self._units.require_revision(unit, if_match)

        await self._units.delete(name, None if if_match is None else check)

    async def _watch_versions(self, name: str) -> AsyncGenerator[GPUUnit, None]:
        """Yield the unit now and after every change; NotFoundError when it no longer exists.

        The watch starts at the version of a list: the unit's own may be too old to watch from.
        """
        selection = ListOptions(field_selector=f"metadata.name={name}")
        while True:
            listed = await self._objects.list(GPU_UNITS, self._namespace, selection)
            if not listed.items:
                raise self._units.not_found_error(name)
            yield listed.items[0]
            changes = self._objects.watch(GPU_UNITS, self._namespace, name, listed.resource_version)
            async with aclosing(changes):
                async for unit in changes:
                    if unit is None:
                        raise self._units.not_found_error(name)
                    yield unit
            await self._clock.sleep(WATCH_RETRY_SECONDS)


def list_options(query: ListUnits) -> ListOptions:
    """Return the list options; the API server applies the filters."""
    fields = {"spec.specName": query.spec_name, "status.phase": query.phase}
    return ListOptions(
        label_selector=query.label,
        field_selector=",".join(f"{name}={value}" for name, value in fields.items() if value),
        limit=query.limit,
        continue_token=query.continue_token,
    )


def is_settled(unit: GPUUnit) -> bool:
    """Return whether the unit is Ready or Failed for its present generation."""
    status = unit.status
    is_current = status.observed_generation == unit.metadata.generation
    return is_current and status.phase in SETTLED_PHASES


def require_valid_unit(spec: GPUUnitSpec) -> None:
    """Raise InvalidRequestError for a spec that Kubernetes would refuse."""
    problems = [
        *workload_problems(spec),
        *access_problems(spec),
        *mount_problems(spec),
        *serverless_problems(spec),
    ]
    if problems:
        raise InvalidRequestError("the unit would be invalid", details=problem_details(problems))
