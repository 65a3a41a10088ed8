"""Functions: created once per operation, read, changed and deleted."""

from apiserver.errors import ConflictError, NotFoundError
from apiserver.functions.commands import (
    ChangeFunction,
    CreateFunction,
    DeleteFunction,
    ListFunctions,
    QueuedWorkPolicy,
)
from apiserver.functions.patch import (
    change_patch,
    changed_spec,
    function_spec,
    require_valid_function,
)
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ListOptions, ObjectClient, Page
from apiserver.kube.resources import FUNCTIONS
from apiserver.nats.port import CallQueue
from apiserver.operations.create_object import ObjectCreator
from apiserver.operations.result import DeletedObject, OperationResult
from apiserver.resource_store import ResourceStore
from shared.v1alpha1.function import Function, FunctionSpec
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.wellknown import ON_DELETE_ANNOTATION


class FunctionService:
    """Creates, reads, changes and deletes functions."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        creator: ObjectCreator[Function],
        call_queue: CallQueue,
        retention_seconds: float,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._functions = ResourceStore(objects, FUNCTIONS, namespace, "function")
        self._creator = creator
        self._call_queue = call_queue
        self._retention_seconds = retention_seconds

    async def create(
        self, command: CreateFunction
    ) -> OperationResult[Function | DeletedObject | Operation]:
        """Create a function, once for all requests of the operation."""

        def resolve_spec() -> FunctionSpec:
            spec = function_spec(command)
            require_valid_function(command.name, spec, self._retention_seconds)
            return spec

        return await self._creator.create(command, resolve_spec)

    async def list(self, query: ListFunctions) -> Page[Function]:
        """Return one page of functions; ContinueTokenExpiredError."""
        fields = f"status.phase={query.phase}" if query.phase else ""
        selection = ListOptions(
            field_selector=fields, limit=query.limit, continue_token=query.continue_token
        )
        return await self._functions.list(selection)

    async def get(self, name: str) -> Function:
        """Return the function as it is now; NotFoundError."""
        return await self._functions.get(name)

    async def change(self, command: ChangeFunction) -> Function:
        """Write the given fields; PreconditionFailedError if the caller saw another revision."""

        async def make_patch(function: Function) -> JsonObject:
            spec = changed_spec(function, command)
            require_valid_function(command.name, spec, self._retention_seconds)
            return change_patch(function, spec)

        return await self._functions.patch(command.name, make_patch, command.if_match)

    async def delete(self, command: DeleteFunction) -> Function | None:
        """Delete the function; return it while its finalizer runs, None once it is deleted.

        Invocations accepted between the count of its work and the deletion are finished, not lost.
        """
        function = await self.get(command.name)
        if command.on_delete is None:
            await self._require_idle(function)
        await self._delete(function, command.on_delete or QueuedWorkPolicy.DRAIN)
        try:
            current = await self.get(command.name)
        except NotFoundError:
            return None
        return current if current.metadata.uid == function.metadata.uid else None

    async def _delete(self, function: Function, on_delete: QueuedWorkPolicy) -> None:
        meta = function.metadata
        metadata = {"uid": meta.uid, "annotations": {ON_DELETE_ANNOTATION: on_delete.value}}
        try:
            await self._objects.patch(FUNCTIONS, self._namespace, meta.name, {"metadata": metadata})
            await self._objects.delete(FUNCTIONS, self._namespace, meta.name, uid=meta.uid)
        except kube_errors.ConflictError:
            raise ConflictError("the function was created again; read it first") from None
        except kube_errors.NotFoundError:
            return  # deleted by another request, or its finalizer is done

    async def _require_idle(self, function: Function) -> None:
        name = function.metadata.name
        unfinished = await self._call_queue.count_unfinished(name)
        if unfinished:
            raise ConflictError(
                f"the function {name!r} has {unfinished} queued or running invocations; "
                "set drain=true to finish them, or purge=true to cancel them"
            )
