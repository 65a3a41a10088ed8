"""Reconciler of operations: deletes each one when it is no longer needed."""

from typing import Final

from controller.caches import Caches
from controller.kinds import OPERATIONS
from controller.object_reader import ObjectReader
from controller.operation.retention import is_operation_referenced, next_retention_action
from controller.runtime import (
    Clock,
    ConflictError,
    NotFoundError,
    ObjectKey,
    Preconditions,
    Result,
    Writer,
    key_of,
)
from shared.v1alpha1.operation import Operation

MAX_REQUEUE_SECONDS: Final = 60.0  # until an operation that was still needed is checked again


class OperationReconciler:
    """Reconciler that deletes operations `retention_seconds` after they became final.

    An operation stays as long as a unit depends on it.
    """

    def __init__(
        self,
        caches: Caches,
        reader: ObjectReader,
        writer: Writer,
        clock: Clock,
        retention_seconds: float,
    ) -> None:
        self._operations = caches.operations
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._retention_seconds = retention_seconds

    async def reconcile(self, key: ObjectKey) -> Result:
        """Delete the operation or drop its request, if due.

        Each write has a precondition: nothing is written if the operation has changed.
        """
        operation = self._operations.get(key)
        if operation is None or operation.metadata.deletion_timestamp is not None:
            return Result()
        action = next_retention_action(operation, self._retention_seconds, self._clock.now())
        if action.delete and await self._is_referenced(operation):
            return Result(requeue_after=min(self._retention_seconds, MAX_REQUEUE_SECONDS))
        try:
            if action.delete:
                await self._delete(operation)
            elif action.drop_request:
                await self._drop_request(operation)
        except (ConflictError, NotFoundError):
            return Result()  # restarted or gone meanwhile: the watch event enqueues it again
        return Result(requeue_after=action.requeue_after)

    async def _is_referenced(self, operation: Operation) -> bool:
        """Return whether a unit depends on the operation: by the cache, if not, by the server."""
        operation_id = operation.spec.operation_id
        if any(
            is_operation_referenced(unit, operation_id)
            for unit in self._reader.cached_units_of(operation_id)
        ):
            return True
        live = await self._reader.live_units_of(operation)
        return any(is_operation_referenced(unit, operation_id) for unit in live)

    async def _delete(self, operation: Operation) -> None:
        preconditions = Preconditions(operation.metadata.uid, operation.metadata.resource_version)
        await self._writer.delete(OPERATIONS, key_of(operation), preconditions)

    async def _drop_request(self, operation: Operation) -> None:
        version = {"resourceVersion": operation.metadata.resource_version}
        body = {"metadata": version, "spec": {"request": None}}
        await self._writer.patch(OPERATIONS, key_of(operation), body)
