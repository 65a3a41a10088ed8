"""Jobs: operations as callers of the API see them."""

from apiserver.errors import NotFoundError
from apiserver.kube.port import ListOptions, ObjectClient, Page
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.store import FINAL_PHASES, OperationStore
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase


class JobService:
    """Reads and lists jobs."""

    def __init__(self, objects: ObjectClient, namespace: str, operations: OperationStore) -> None:
        self._objects = objects
        self._namespace = namespace
        self._operations = operations

    async def list(
        self,
        operation_type: OperationType | None,
        phase: OperationPhase | None,
        limit: int,
        continue_token: str,
    ) -> Page[Operation]:
        """Return one page of operations."""
        selectors = [
            *([f"spec.type={operation_type.value}"] if operation_type else []),
            *phase_field_selectors(phase),
        ]
        selection = ListOptions(
            field_selector=",".join(selectors), limit=limit, continue_token=continue_token
        )
        return await self._objects.list(OPERATIONS, self._namespace, selection)

    async def get(self, operation_id: str) -> Operation:
        """Return the operation of that id; NotFoundError."""
        operation = await self._operations.find(operation_id)
        if operation is None or operation.spec.operation_id != operation_id:
            raise NotFoundError(f"there is no job of operation {operation_id!r}")
        return operation


def phase_field_selectors(phase: OperationPhase | None) -> list[str]:
    """Return the field selectors for a phase; Pending is the default, so it excludes the others."""
    if phase is None:
        return []
    if phase is not OperationPhase.PENDING:
        return [f"status.phase={phase.value}"]
    return [
        f"status.phase!={other}" for other in (*sorted(FINAL_PHASES), OperationPhase.RUNNING.value)
    ]
