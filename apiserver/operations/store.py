"""Stored operations: the name of an Operation is its lock, and every change compares and sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apiserver.errors import ConflictError, OperationConflictError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ObjectClient
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.request_hash import (
    Command,
    normalised_fields,
    request_hash,
)
from apiserver.operations.retry import Retry
from shared.clock import Clock
from shared.time import format_timestamp
from shared.v1alpha1 import names
from shared.v1alpha1.operation import Operation, StockRef
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.wellknown import BEGUN_BY_ANNOTATION

ResolveSpec = Callable[[], msgspec.Struct]

FINAL_PHASES: Final = frozenset({OperationPhase.SUCCEEDED.value, OperationPhase.FAILED.value})


class OperationLostError(ConflictError):
    """The Operation was deleted while work on it continued."""


@dataclass(frozen=True, slots=True)
class BegunOperation:
    """An operation, and whether this request began it."""

    operation: Operation
    is_new: bool


class OperationStore:
    """Operation objects in the system namespace."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        retry: Retry,
        clock: Clock,
        make_id: Callable[[], str],
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._retry = retry
        self._clock = clock
        self._make_id = make_id

    async def find(self, operation_id: str) -> Operation | None:
        """Return the operation as it is now; None if there is none."""
        try:
            return await self._retry.call(
                lambda: self._objects.get(
                    OPERATIONS, self._namespace, names.operation_name(operation_id)
                )
            )
        except kube_errors.NotFoundError:
            return None

    async def find_same(self, command: Command) -> Operation | None:
        """Return the operation of this request, or None; OperationConflictError for another."""
        operation = await self.find(command.operation_id)
        if operation is not None:
            require_same_request(operation, command)
        return operation

    async def begin(
        self,
        command: Command,
        *,
        stock_ref: StockRef | None = None,
        resolved_spec: dict[str, Any] | None = None,
    ) -> BegunOperation:
        """Create the operation, or return the one that the same request created before.

        `resolved_spec` is what the configuration adds to the request: a resume uses the same.
        """
        begun_by = self._make_id()
        body = operation_manifest(command, begun_by, stock_ref, resolved_spec)
        while True:
            try:
                operation = await self._retry.call(
                    lambda: self._objects.create(OPERATIONS, self._namespace, body)
                )
            except (
                kube_errors.AlreadyExistsError,
                kube_errors.InvalidError,
                kube_errors.QuotaExceededError,
            ) as error:
                # It may exist although the call was refused: a quota is checked before the name.
                existing = await self.find_same(command)
                if existing is None and isinstance(error, kube_errors.AlreadyExistsError):
                    continue  # deleted between the two calls
                if existing is None:
                    raise
                operation = existing
            is_ours = operation.metadata.annotations.get(BEGUN_BY_ANNOTATION) == begun_by
            return BegunOperation(operation, is_new=is_ours and not operation.status.attempt)

    async def begin_with_spec(self, command: Command, resolve_spec: ResolveSpec) -> BegunOperation:
        """Begin with what the configuration adds; an existing operation is returned without it.

        Otherwise a replay would fail after a change of the configuration.
        """
        try:
            spec = resolve_spec()
        except ServiceError:
            operation = await self.find_same(command)
            if operation is None:
                raise
            return BegunOperation(operation, is_new=False)
        return await self.begin(command, resolved_spec=msgspec.to_builtins(spec))

    async def restart(self, operation: Operation) -> BegunOperation:
        """Restart a failed operation; it is new for the first request that restarts it."""
        begun_by = self._make_id()
        status = {
            "phase": OperationPhase.PENDING.value,
            "attempt": operation.status.attempt + 1,
            "message": None,
            "begunBy": begun_by,
            "finishedAt": None,
        }
        restarted = await self.update_status(operation, status) or await self.reread(operation)
        return BegunOperation(restarted, is_new=restarted.status.begun_by == begun_by)

    async def reread(self, operation: Operation) -> Operation:
        """Read the operation again; OperationLostError if it was deleted or recreated."""
        current = await self.find(operation.spec.operation_id)
        if current is None or current.metadata.uid != operation.metadata.uid:
            raise OperationLostError("the operation was deleted; send the request again")
        return current

    async def update_status(self, operation: Operation, status: dict[str, Any]) -> Operation | None:
        """Change the status at the version that was read; None if the operation has changed."""
        stamped = {**status, "updatedAt": self._timestamp()}
        if status.get("phase") in FINAL_PHASES:
            stamped["finishedAt"] = self._timestamp()
        return await self._patch(operation, {"status": stamped}, "status")

    async def assign_stock(self, operation: Operation, stock_ref: StockRef) -> Operation | None:
        """Record other stock at the version that was read; None if the operation has changed."""
        stock = {"name": stock_ref.name, "uid": stock_ref.uid}
        return await self._patch(operation, {"spec": {"stock": stock}})

    async def _patch(
        self, operation: Operation, body: dict[str, Any], subresource: str = ""
    ) -> Operation | None:
        preconditions = {
            "uid": operation.metadata.uid,
            "resourceVersion": operation.metadata.resource_version,
        }
        conditional = {**body, "metadata": {**body.get("metadata", {}), **preconditions}}
        name = operation.metadata.name
        try:
            return await self._retry.call(
                lambda: self._objects.patch(
                    OPERATIONS, self._namespace, name, conditional, subresource
                )
            )
        except (kube_errors.ConflictError, kube_errors.NotFoundError):
            return None

    def _timestamp(self) -> str:
        return format_timestamp(self._clock.now())


def operation_manifest(
    command: Command,
    begun_by: str,
    stock_ref: StockRef | None,
    resolved_spec: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the new Operation; its name follows from the operationID."""
    spec: dict[str, Any] = {
        "operationID": command.operation_id,
        "type": command.operation_type.value,
        "requestHash": request_hash(command),
        "request": normalised_fields(command)
        | ({"settled": resolved_spec} if resolved_spec else {}),
    }
    if stock_ref is not None:
        spec["stock"] = {"name": stock_ref.name, "uid": stock_ref.uid}
    # The creator recognises its own create by this, even if the response was lost.
    metadata = {
        "name": names.operation_name(command.operation_id),
        "annotations": {BEGUN_BY_ANNOTATION: begun_by},
    }
    return {"metadata": metadata, "spec": spec}


def require_same_request(operation: Operation, command: Command) -> None:
    if operation.spec.request_hash != request_hash(command):
        raise OperationConflictError(
            f"operationID {command.operation_id!r} was used for a different request; "
            "use a new one, or send exactly the same request"
        )


def is_final(operation: Operation) -> bool:
    return operation.status.phase in FINAL_PHASES


def has_succeeded(operation: Operation) -> bool:
    return operation.status.phase == OperationPhase.SUCCEEDED


def has_failed(operation: Operation) -> bool:
    return operation.status.phase == OperationPhase.FAILED
