"""Sweeps the records of operations: none is kept for longer than it is needed."""

from typing import Final

from controller.caches import Caches
from controller.kinds import OPERATIONS
from controller.object_reader import Lookup
from controller.operation.dependence import depends
from controller.operation.retention import step
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Condition
from controller.runtime.client.kind import key_of
from controller.runtime.clock import Clock
from controller.runtime.errors import ConflictError, NotFoundError
from controller.runtime.key import ObjectKey
from controller.runtime.loop.reconcile import Result
from shared.v1alpha1.operation import Operation

LONGEST_WAIT: Final = 60.0  # until a record that was still needed is looked at again


class OperationReconciler:
    """Deletes records `retention` seconds after they became final, once no unit depends on them."""

    def __init__(
        self, caches: Caches, lookup: Lookup, writer: Writer, clock: Clock, retention: float
    ) -> None:
        self._records = caches.operations
        self._lookup = lookup
        self._writer = writer
        self._clock = clock
        self._retention = retention

    async def reconcile(self, key: ObjectKey) -> Result:
        """Drop what is no longer needed of one record; every write holds it to what was seen."""
        record = self._records.get(key)
        if record is None or record.metadata.deletion_timestamp is not None:
            return Result()
        wanted = step(record, self._retention, self._clock.now())
        if wanted.delete and await self._is_needed(record):
            return Result(requeue_after=min(self._retention, LONGEST_WAIT))
        try:
            if wanted.delete:
                await self._delete(record)
            elif wanted.drop_request:
                await self._drop_request(record)
        except (ConflictError, NotFoundError):
            return Result()  # restarted or gone meanwhile: the watch brings it again
        return Result(requeue_after=wanted.look_after)

    async def _is_needed(self, record: Operation) -> bool:
        """Whether a unit depends on it: seen in the cache, or else at the server."""
        operation_id = record.spec.operation_id
        if any(depends(unit, operation_id) for unit in self._lookup.units_of(operation_id)):
            return True
        live = await self._lookup.live_units_of(record)
        return any(depends(unit, operation_id) for unit in live)

    async def _delete(self, record: Operation) -> None:
        seen = Condition(record.metadata.uid, record.metadata.resource_version)
        await self._writer.delete(OPERATIONS, key_of(record), seen)

    async def _drop_request(self, record: Operation) -> None:
        seen = {"resourceVersion": record.metadata.resource_version}
        body = {"metadata": seen, "spec": {"request": None}}
        await self._writer.patch(OPERATIONS, key_of(record), body)
