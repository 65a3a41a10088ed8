"""Functions: made once an operation, looked at, changed and deleted."""

from apiserver.errors import ConflictError, NotFoundError, PreconditionFailedError
from apiserver.functions.patch import change_patch, changed_spec, function_spec
from apiserver.functions.rules import require_valid
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Page, Selection
from apiserver.kube.resources import FUNCTIONS
from apiserver.kube.revision import revision_of
from apiserver.nats.port import CallQueue
from apiserver.operations.create_object import ObjectCreation
from apiserver.operations.result import Accepted, DeletedObject
from apiserver.serverless_commands import (
    ChangeFunction,
    CreateFunction,
    DeleteFunction,
    ListFunctions,
    OnDelete,
)
from shared.v1alpha1.function import Function, FunctionSpec
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.wellknown import ON_DELETE


class FunctionService:
    """The use cases of functions."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        creation: ObjectCreation[Function],
        calls: CallQueue,
        retention_seconds: float,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._creation = creation
        self._calls = calls
        self._retention_seconds = retention_seconds

    async def create(
        self, command: CreateFunction
    ) -> Accepted[Function | DeletedObject | Operation]:
        """Make a function, once for all requests of the operation."""

        def settle() -> FunctionSpec:
            spec = function_spec(command)
            require_valid(command.name, spec, self._retention_seconds)
            return spec

        return await self._creation.create(command, settle)

    async def list(self, query: ListFunctions) -> Page[Function]:
        """One page of functions."""
        fields = f"status.phase={query.phase}" if query.phase else ""
        selection = Selection(fields=fields, limit=query.limit, token=query.token)
        return await self._objects.list(FUNCTIONS, self._namespace, selection)

    async def get(self, name: str) -> Function:
        """The function as it is now."""
        try:
            return await self._objects.get(FUNCTIONS, self._namespace, name)
        except kube_errors.AbsentError:
            raise absent(name) from None

    async def change(self, command: ChangeFunction) -> Function:
        """Write what was given, if the function is still the one that the caller has seen."""
        while True:
            function = await self.get(command.name)
            seen = command.if_match
            if seen is not None and revision_of(function.metadata) not in seen:
                raise PreconditionFailedError("the function has changed since it was read")
            spec = changed_spec(function, command)
            require_valid(command.name, spec, self._retention_seconds)
            patch = change_patch(function, spec)
            try:
                return await self._objects.patch(FUNCTIONS, self._namespace, command.name, patch)
            except kube_errors.StaleError:
                continue  # a status was written in between, or another change: look again
            except kube_errors.AbsentError:
                raise absent(command.name) from None

    async def delete(self, command: DeleteFunction) -> Function | None:
        """Ask for the deletion; the function while its finalizer works, None once it is gone.

        What is accepted between our look at the queue and the deletion is finished, not lost.
        """
        function = await self.get(command.name)
        if command.on_delete is None:
            await self._require_idle(function)
        await self._delete(function, command.on_delete or OnDelete.DRAIN)
        try:
            found = await self.get(command.name)
        except NotFoundError:
            return None
        return found if found.metadata.uid == function.metadata.uid else None

    async def _delete(self, function: Function, on_delete: OnDelete) -> None:
        meta = function.metadata
        intent = {"uid": meta.uid, "annotations": {ON_DELETE: on_delete.value}}
        try:
            await self._objects.patch(FUNCTIONS, self._namespace, meta.name, {"metadata": intent})
            await self._objects.delete(FUNCTIONS, self._namespace, meta.name, uid=meta.uid)
        except kube_errors.StaleError:
            raise ConflictError("the function was made anew meanwhile; look at it") from None
        except kube_errors.AbsentError:
            return  # by somebody else, or by its last finalizer

    async def _require_idle(self, function: Function) -> None:
        name = function.metadata.name
        held = await self._calls.held(name)
        if held:
            raise ConflictError(
                f"the function {name!r} has {held} queued or running invocations; "
                "give drain=true to finish them, or purge=true to cancel them"
            )


def absent(name: str) -> NotFoundError:
    return NotFoundError(f"there is no function {name!r}")
