"""Seeding stock: units by ordinal, each listed in the record before it can be claimed.

Several may work on one record: a name is made once, and an ordinal is listed once.
"""

from typing import Any, Final

from apiserver.clock import Clock
from apiserver.error_mapping import service_error
from apiserver.errors import AlreadyExistsError, ConflictError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.failure_text import failure_text
from apiserver.operations.store import Records, is_final
from apiserver.stock_units.create import StockUnits
from shared.v1alpha1 import gpuunit, names
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.unit_resources import Envelope

CHUNK: Final = 64
LISTING_SECONDS: Final = 1.0


class Seeding:
    """Carries one seeding operation on until it is final."""

    def __init__(self, stock: StockUnits, records: Records, clock: Clock) -> None:
        self._stock = stock
        self._records = records
        self._clock = clock

    async def finish(self, record: Operation, replicas: int, envelope: Envelope) -> Operation:
        """Make what is not listed, and list it at most once a second."""
        made: dict[int, str] = {}
        listed_at = self._clock.monotonic()
        while not is_final(record):
            missing = [each for each in range(replicas) if each not in known(record, made)]
            try:
                await self._stock.make(record, missing[:CHUNK], envelope, made)
            except kube_errors.ClusterError as error:
                return await self._fail(record, made, error)
            now = self._clock.monotonic()
            if len(missing) <= CHUNK or now - listed_at >= LISTING_SECONDS:
                record, listed_at = await self._list(record, made, replicas), now
        return record

    async def _list(self, record: Operation, made: dict[int, str], replicas: int) -> Operation:
        """Write what was made into the record; it is done when all of it is there."""
        listing = known(record, made)
        status = self._progress(record, listing, replicas)
        if len(listing) == replicas:
            status["phase"] = OperationPhase.SUCCEEDED.value
        updated = await self._records.update(record, status)
        return updated or await self._records.reread(record)

    async def _fail(
        self, record: Operation, made: dict[int, str], error: kube_errors.ClusterError
    ) -> Operation:
        """What was made until then is listed: it is good stock."""
        status = {
            **self._progress(record, known(record, made), record.status.requested),
            "phase": OperationPhase.FAILED.value,
            "message": failure_text(reason_of(error)),
        }
        updated = await self._records.update(record, status)
        return updated or await self._records.reread(record)

    def _progress(
        self, record: Operation, listing: dict[int, str], replicas: int
    ) -> dict[str, Any]:
        objects = [
            {
                "kind": gpuunit.KIND,
                "namespace": self._stock.namespace,
                "name": names.stock_unit(record.spec.operation_id, ordinal),
                "uid": uid,
                "ordinal": ordinal,
            }
            for ordinal, uid in sorted(listing.items())
        ]
        started = record.status.started_at or self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "phase": OperationPhase.RUNNING.value,
            "requested": replicas,
            "created": len(objects),
            "objects": objects,
            "startedAt": started,
        }


def known(record: Operation, made: dict[int, str]) -> dict[int, str]:
    """Uids by ordinal; what is listed counts, and another unit of its ordinal is a stray."""
    listed = {each.ordinal: each.uid for each in record.status.objects if each.ordinal is not None}
    return {**made, **listed}


def reason_of(error: kube_errors.ClusterError) -> ServiceError:
    """Why stock could not be made, in words that a caller may read."""
    if isinstance(error, kube_errors.RejectedError | kube_errors.QuotaExceededError):
        return service_error(error)
    if isinstance(error, kube_errors.TakenError):
        return AlreadyExistsError(
            "stock of an earlier request has the names of this operationID; use a new one"
        )
    if isinstance(error, kube_errors.ClusterRefusedError):
        return ConflictError(f"Kubernetes does not allow it: {error}")
    return ConflictError(f"Kubernetes did not do it for ten minutes: {error}")
