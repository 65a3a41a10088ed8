"""The durable records of operations: their names are the lock, every change compares and sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apiserver.clock import Clock
from apiserver.errors import ConflictError, OperationConflictError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.request_hash import TYPES, Command, normalised, request_hash
from apiserver.operations.retry import Patience
from shared.v1alpha1 import names
from shared.v1alpha1.operation import Operation, StockRef
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.wellknown import BEGUN_BY

Settle = Callable[[], msgspec.Struct]

FINAL: Final = frozenset({OperationPhase.SUCCEEDED.value, OperationPhase.FAILED.value})


class LostRecordError(ConflictError):
    """Somebody removed the record while the operation was under way."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A record, and whether this request has begun it."""

    record: Operation
    is_new: bool


class Records:
    """Operation objects in the system namespace."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        patience: Patience,
        clock: Clock,
        make_id: Callable[[], str],
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._patience = patience
        self._clock = clock
        self._make_id = make_id

    async def find(self, operation_id: str) -> Operation | None:
        """The record as it is now."""
        try:
            return await self._patience.with_call(
                lambda: self._objects.get(
                    OPERATIONS, self._namespace, names.operation(operation_id)
                )
            )
        except kube_errors.AbsentError:
            return None

    async def find_same(self, command: Command) -> Operation | None:
        """The record of this very request; OperationConflictError if the id had another."""
        record = await self.find(command.operation_id)
        if record is not None:
            require_same(record, command)
        return record

    async def begin(
        self,
        command: Command,
        *,
        stock: StockRef | None = None,
        settled: dict[str, Any] | None = None,
    ) -> Begun:
        """Make the record, or find the one that somebody made for the same request.

        `settled` is what the configuration adds to the request: whoever resumes it uses the same.
        """
        mine = self._make_id()
        body = new_record(command, mine, stock, settled)
        while True:
            try:
                record = await self._patience.with_call(
                    lambda: self._objects.create(OPERATIONS, self._namespace, body)
                )
            except (
                kube_errors.TakenError,
                kube_errors.RejectedError,
                kube_errors.QuotaExceededError,
            ) as error:
                # It may be there although it is refused: a quota is asked before the name.
                found = await self.find_same(command)
                if found is None and isinstance(error, kube_errors.TakenError):
                    continue  # swept between the two calls
                if found is None:
                    raise
                record = found
            is_mine = record.metadata.annotations.get(BEGUN_BY) == mine
            return Begun(record, is_new=is_mine and not record.status.attempt)

    async def begin_settled(self, command: Command, settle: Settle) -> Begun:
        """Begin with what the configuration adds; a record that is there stands whatever it says.

        Otherwise a replay would fail where the configuration was changed since.
        """
        try:
            settled = settle()
        except ServiceError:
            record = await self.find_same(command)
            if record is None:
                raise
            return Begun(record, is_new=False)
        return await self.begin(command, settled=msgspec.to_builtins(settled))

    async def restart(self, record: Operation) -> Begun:
        """Begin a failed operation again; whoever comes first is the new one."""
        mine = self._make_id()
        status = {
            "phase": OperationPhase.PENDING.value,
            "attempt": record.status.attempt + 1,
            "message": None,
            "begunBy": mine,
            "finishedAt": None,
        }
        restarted = await self.update(record, status) or await self.reread(record)
        return Begun(restarted, is_new=restarted.status.begun_by == mine)

    async def reread(self, record: Operation) -> Operation:
        """The same record as it is now; LostRecordError if it was removed or made anew."""
        found = await self.find(record.spec.operation_id)
        if found is None or found.metadata.uid != record.metadata.uid:
            raise LostRecordError("the record of the operation was removed; send the request again")
        return found

    async def update(self, record: Operation, status: dict[str, Any]) -> Operation | None:
        """Change the status of the record as it was read; None if it has changed since."""
        stamped = {**status, "updatedAt": self._now()}
        if status.get("phase") in FINAL:
            stamped["finishedAt"] = self._now()
        return await self._change(record, {"status": stamped}, "status")

    async def name_stock(self, record: Operation, stock: StockRef) -> Operation | None:
        """Name other stock in the record as it was read; None if it has changed since."""
        named = {"name": stock.name, "uid": stock.uid}
        return await self._change(record, {"spec": {"stock": named}})

    async def _change(
        self, record: Operation, body: dict[str, Any], subresource: str = ""
    ) -> Operation | None:
        condition = {
            "uid": record.metadata.uid,
            "resourceVersion": record.metadata.resource_version,
        }
        conditional = {**body, "metadata": {**body.get("metadata", {}), **condition}}
        name = record.metadata.name
        try:
            return await self._patience.with_call(
                lambda: self._objects.patch(
                    OPERATIONS, self._namespace, name, conditional, subresource
                )
            )
        except (kube_errors.StaleError, kube_errors.AbsentError):
            return None

    def _now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def new_record(
    command: Command, begun_by: str, stock: StockRef | None, settled: dict[str, Any] | None
) -> dict[str, Any]:
    """The record as it is created; its name is the same for everybody who asks for this id."""
    spec: dict[str, Any] = {
        "operationID": command.operation_id,
        "type": TYPES[type(command)].value,
        "requestHash": request_hash(command),
        "request": normalised(command) | ({"settled": settled} if settled else {}),
    }
    if stock is not None:
        spec["stock"] = {"name": stock.name, "uid": stock.uid}
    # By its mark the creator knows that it was the one, also when the answer was lost.
    metadata = {
        "name": names.operation(command.operation_id),
        "annotations": {BEGUN_BY: begun_by},
    }
    return {"metadata": metadata, "spec": spec}


def require_same(record: Operation, command: Command) -> None:
    if record.spec.request_hash != request_hash(command):
        raise OperationConflictError(
            f"operationID {command.operation_id!r} was used for another request; "
            "use a new one, or send the very same request"
        )


def is_final(record: Operation) -> bool:
    return record.status.phase in FINAL


def has_succeeded(record: Operation) -> bool:
    return record.status.phase == OperationPhase.SUCCEEDED


def has_failed(record: Operation) -> bool:
    return record.status.phase == OperationPhase.FAILED
