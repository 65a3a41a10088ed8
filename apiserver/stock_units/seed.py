"""Seeds stock: units by ordinal, each listed in the operation before it can be claimed.

Several processes may work on one operation: a name is created once, an ordinal listed once.
"""

from typing import Any, Final

from apiserver.error_mapping import service_error_from_kube
from apiserver.errors import AlreadyExistsError, ConflictError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.failure_text import failure_text
from apiserver.operations.store import OperationStore, is_final
from apiserver.stock_units.create import StockUnitCreator
from shared.clock import Clock
from shared.time import format_timestamp
from shared.v1alpha1 import gpuunit, names
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.unit_resources import UnitResources

BATCH_SIZE: Final = 64
PROGRESS_INTERVAL_SECONDS: Final = 1.0


class StockSeeder:
    """Works on seeding operations until they are final."""

    def __init__(self, creator: StockUnitCreator, operations: OperationStore, clock: Clock) -> None:
        self._creator = creator
        self._operations = operations
        self._clock = clock

    async def finish(
        self, operation: Operation, replicas: int, resources: UnitResources
    ) -> Operation:
        """Create the units that are not listed, and list them at most once a second."""
        created_uids: dict[int, str] = {}
        listed_at = self._clock.monotonic()
        while not is_final(operation):
            known_uids = uids_by_ordinal(operation, created_uids)
            missing = [ordinal for ordinal in range(replicas) if ordinal not in known_uids]
            batch = missing[:BATCH_SIZE]
            try:
                await self._creator.create_units(operation, batch, resources, created_uids)
            except kube_errors.KubeError as error:
                return await self._record_failure(operation, created_uids, error)
            now = self._clock.monotonic()
            if len(missing) <= BATCH_SIZE or now - listed_at >= PROGRESS_INTERVAL_SECONDS:
                operation = await self._record_progress(operation, created_uids, replicas)
                listed_at = now
        return operation

    async def _record_progress(
        self, operation: Operation, created_uids: dict[int, str], replicas: int
    ) -> Operation:
        """List the created units in the operation; it has succeeded once all are listed."""
        uids = uids_by_ordinal(operation, created_uids)
        status = self._progress_status(operation, uids, replicas)
        if len(uids) == replicas:
            status["phase"] = OperationPhase.SUCCEEDED.value
        updated = await self._operations.update_status(operation, status)
        return updated or await self._operations.reread(operation)

    async def _record_failure(
        self, operation: Operation, created_uids: dict[int, str], error: kube_errors.KubeError
    ) -> Operation:
        """Fail the operation; the units that were created are listed and stay."""
        status = {
            **self._progress_status(
                operation, uids_by_ordinal(operation, created_uids), operation.status.requested
            ),
            "phase": OperationPhase.FAILED.value,
            "message": failure_text(seeding_error(error)),
        }
        updated = await self._operations.update_status(operation, status)
        return updated or await self._operations.reread(operation)

    def _progress_status(
        self, operation: Operation, uids: dict[int, str], replicas: int
    ) -> dict[str, Any]:
        objects = [
            {
                "kind": gpuunit.KIND,
                "namespace": self._creator.namespace,
                "name": names.stock_unit_name(operation.spec.operation_id, ordinal),
                "uid": uid,
                "ordinal": ordinal,
            }
            for ordinal, uid in sorted(uids.items())
        ]
        started = operation.status.started_at or format_timestamp(self._clock.now())
        return {
            "phase": OperationPhase.RUNNING.value,
            "requested": replicas,
            "created": len(objects),
            "objects": objects,
            "startedAt": started,
        }


def uids_by_ordinal(operation: Operation, created_uids: dict[int, str]) -> dict[int, str]:
    """Return uids by ordinal; a listed uid wins, any other unit of its ordinal is a stray."""
    listed = {
        item.ordinal: item.uid for item in operation.status.objects if item.ordinal is not None
    }
    return {**created_uids, **listed}


def seeding_error(error: kube_errors.KubeError) -> ServiceError:
    """Return the error for the caller of a seeding that failed."""
    if isinstance(error, kube_errors.InvalidError | kube_errors.QuotaExceededError):
        return service_error_from_kube(error)
    if isinstance(error, kube_errors.AlreadyExistsError):
        return AlreadyExistsError(
            "stock units of an earlier request have the names of this operationID; use another ID"
        )
    if isinstance(error, kube_errors.ForbiddenError):
        return ConflictError(f"Kubernetes forbids the creation of the units: {error}")
    return ConflictError(f"Kubernetes did not create the units within ten minutes: {error}")
