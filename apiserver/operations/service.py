"""Jobs: the records of operations, as callers see them."""

from apiserver.errors import NotFoundError
from apiserver.kube.port import Objects, Page, Selection
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.store import FINAL, Records
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase


class JobService:
    """The use cases of jobs."""

    def __init__(self, objects: Objects, namespace: str, records: Records) -> None:
        self._objects = objects
        self._namespace = namespace
        self._records = records

    async def list(
        self, type: OperationType | None, phase: OperationPhase | None, limit: int, token: str
    ) -> Page[Operation]:
        """One page of operations."""
        wanted = [*([f"spec.type={type.value}"] if type else []), *phase_selectors(phase)]
        selection = Selection(fields=",".join(wanted), limit=limit, token=token)
        return await self._objects.list(OPERATIONS, self._namespace, selection)

    async def get(self, operation_id: str) -> Operation:
        """The operation of that id."""
        record = await self._records.find(operation_id)
        if record is None or record.spec.operation_id != operation_id:
            raise NotFoundError(f"there is no job of operation {operation_id!r}")
        return record


def phase_selectors(phase: OperationPhase | None) -> list[str]:
    """A record without a phase is pending, which a selector can only say by what it is not."""
    if phase is None:
        return []
    if phase is not OperationPhase.PENDING:
        return [f"status.phase={phase.value}"]
    return [f"status.phase!={other}" for other in (*sorted(FINAL), OperationPhase.RUNNING.value)]
