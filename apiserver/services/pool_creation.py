"""Making a pool: one object, whose annotation says which operation made it."""

from typing import Any

from apiserver.errors import AlreadyExistsError, ServiceError
from apiserver.failures import service_error
from apiserver.gateway import (
    AbsentError,
    Objects,
    QuotaExceededError,
    RejectedError,
    TakenError,
)
from apiserver.resources import STOCK_POOLS
from apiserver.services.failure_text import failure_text
from apiserver.services.patience import Patience
from apiserver.services.records import Records, is_final
from shared import names, wellknown
from shared.phases import OperationPhase
from shared.v1alpha1 import stockpool
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool


class PoolCreation:
    """Carries one operation on until it is final."""

    def __init__(
        self, objects: Objects, namespace: str, records: Records, patience: Patience
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._records = records
        self._patience = patience

    async def finish(self, record: Operation) -> Operation:
        """The record once it is final."""
        while not is_final(record):
            status = await self._made(record)
            updated = await self._records.update(record, status)
            record = updated or await self._records.reread(record)
        return record

    async def _made(self, record: Operation) -> dict[str, Any]:
        """What the record shall say: closed with the pool, or failed."""
        body = pool_body(record)
        name = body["metadata"]["name"]
        try:
            pool = await self._patience.with_call(
                lambda: self._objects.create(STOCK_POOLS, self._namespace, body)
            )
        except TakenError:
            found = await self._found(name)
            if found is None or not is_made_by(found, record.spec.operation_id):
                said = f"there is a stock pool {name!r} of another operation; choose another name"
                return failed(AlreadyExistsError(said))
            pool = found
        except (RejectedError, QuotaExceededError) as error:
            return failed(service_error(error))
        return succeeded(pool)

    async def _found(self, name: str) -> StockPool | None:
        try:
            return await self._patience.with_call(
                lambda: self._objects.get(STOCK_POOLS, self._namespace, name)
            )
        except AbsentError:
            return None


def pool_body(record: Operation) -> dict[str, Any]:
    """The pool that the record asks for, as it was settled when it was begun."""
    asked = record.spec.request or {}
    metadata = {
        "name": asked["name"],
        "labels": {
            wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY,
            wellknown.OPERATION_LABEL: names.label_hash(record.spec.operation_id),
        },
        "annotations": {
            wellknown.OPERATION_ID: record.spec.operation_id,
            wellknown.REQUEST_HASH: record.spec.request_hash,
        },
    }
    return {"metadata": metadata, "spec": asked["settled"]}


def is_made_by(pool: StockPool, operation_id: str) -> bool:
    return pool.metadata.annotations.get(wellknown.OPERATION_ID) == operation_id


def failed(error: ServiceError) -> dict[str, Any]:
    return {"phase": OperationPhase.FAILED.value, "message": failure_text(error)}


def succeeded(pool: StockPool) -> dict[str, Any]:
    meta = pool.metadata
    made = {
        "kind": stockpool.KIND,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    return {
        "phase": OperationPhase.SUCCEEDED.value,
        "requested": 1,
        "created": 1,
        "objects": [made],
    }
