"""Reads and conditional writes of units during a create."""

from apiserver.errors import ConflictError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ObjectClient
from apiserver.kube.resources import FUNCTIONS, GPU_UNITS
from apiserver.operations.retry import Retry
from apiserver.units.commands import CreateUnit
from apiserver.units.manifest import worker_function_uid
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import OperationObject
from shared.v1alpha1.wellknown import ATTEMPT_ANNOTATION


class UnitStore:
    """Live reads and conditional writes of the units in the instance namespace."""

    def __init__(self, objects: ObjectClient, namespace: str, retry: Retry) -> None:
        self._objects = objects
        self._retry = retry
        self.namespace = namespace

    async def find(self, name: str) -> GPUUnit | None:
        """Return the unit, or None if there is none."""
        try:
            return await self._retry.call(
                lambda: self._objects.get(GPU_UNITS, self.namespace, name)
            )
        except kube_errors.NotFoundError:
            return None

    async def find_listed(self, listed: OperationObject) -> GPUUnit | None:
        """Return the unit that an operation lists; None if it was deleted or recreated."""
        try:
            unit = await self._objects.get(GPU_UNITS, listed.namespace, listed.name)
        except kube_errors.NotFoundError:
            return None
        return unit if unit.metadata.uid == listed.uid else None

    async def create(self, body: JsonObject) -> GPUUnit:
        """Create a unit; AlreadyExistsError for a taken name, perhaps by a call of ours."""
        return await self._retry.call(lambda: self._objects.create(GPU_UNITS, self.namespace, body))

    async def missing_function_error(self, command: CreateUnit) -> ConflictError | None:
        """Return the error for a worker of a deleted or recreated function; otherwise None."""
        uid = worker_function_uid(command)
        if uid is None or command.serverless is None:
            return None
        name = command.serverless.function_name
        try:
            function = await self._retry.call(
                lambda: self._objects.get(FUNCTIONS, self.namespace, name)
            )
        except kube_errors.NotFoundError:
            return ConflictError(f"there is no function {name!r}")
        if function.metadata.uid == uid:
            return None
        return ConflictError(f"the function {name!r} was deleted and recreated; its uid differs")

    async def adopt(self, unit: GPUUnit, attempt: int) -> bool:
        """Mark a unit of an earlier attempt with this attempt; False if it no longer exists.

        The controller deletes a stray only at the version that it read; the mark changes it.
        """
        meta = unit.metadata
        metadata = {"uid": meta.uid, "annotations": {ATTEMPT_ANNOTATION: str(attempt)}}
        try:
            await self._retry.call(
                lambda: self._objects.patch(
                    GPU_UNITS, meta.namespace, meta.name, {"metadata": metadata}
                )
            )
        except (kube_errors.NotFoundError, kube_errors.ConflictError):
            return False
        return True
