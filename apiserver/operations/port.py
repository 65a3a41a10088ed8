"""The use cases of jobs, which are operations as callers see them."""

from typing import Protocol

from apiserver.kube.port import Page
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase


class JobServicePort(Protocol):
    """What was asked for, and how far along it is."""

    async def list(
        self,
        operation_type: OperationType | None,
        phase: OperationPhase | None,
        limit: int,
        continue_token: str,
    ) -> Page[Operation]:
        """One page of operations; ContinueExpiredError."""
        ...

    async def get(self, operation_id: str) -> Operation:
        """The operation of that id; NotFoundError."""
        ...
