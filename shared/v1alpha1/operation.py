"""Operation: one idempotent request, stored durably."""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, field

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.schema import Timestamp, enum_schema

KIND: Final = "Operation"
PLURAL: Final = "operations"


class OperationType(StrEnum):
    """The kind of object that an operation creates."""

    SEED_STOCK_UNITS = "SeedStockUnits"
    CREATE_GPU_UNIT = "CreateGPUUnit"
    CREATE_GPU_STORAGE = "CreateGPUStorage"
    CREATE_STOCK_POOL = "CreateStockPool"
    CREATE_FUNCTION = "CreateFunction"


class StockRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The stock unit that the operation claims."""

    name: Annotated[str, Meta(description="The name of the stock unit.", min_length=1)]
    uid: Annotated[str, Meta(description="The uid of the stock unit.", min_length=1)]


class OperationObject(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One object that the operation created."""

    kind: Annotated[str, Meta(description="The kind of the object.")]
    namespace: Annotated[str, Meta(description="The namespace of the object.")]
    name: Annotated[str, Meta(description="The name of the object.")]
    uid: Annotated[str, Meta(description="The uid of the object.")]
    ordinal: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="The position of the object among the requested objects."),
    ] = None


class OperationSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The request of an operation; only `stock` and `request` change after the creation."""

    operation_id: Annotated[
        str,
        Meta(description="The caller's name for the operation.", min_length=1, max_length=128),
    ] = field(name="operationID")
    type: Annotated[
        str,
        Meta(
            description="The kind of object that the operation creates.",
            max_length=63,
            extra_json_schema=enum_schema(OperationType),
        ),
    ]
    request_hash: Annotated[
        str,
        Meta(
            description="The version and hash of the normalised request.",
            min_length=1,
            max_length=256,
        ),
    ]
    request: Annotated[
        dict[str, Any] | None,
        Meta(description="The normalised request, for resuming; removed on success."),
    ] = None
    stock: Annotated[
        StockRef | None, Meta(description="The stock unit that the operation claims.")
    ] = None


class OperationStatus(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The progress of an operation.

    The API server drops the status on create, so absent means Pending.
    """

    phase: Annotated[
        str,
        Meta(
            description="The phase of the operation; absent: Pending.",
            extra_json_schema=enum_schema(OperationPhase),
        ),
    ] = OperationPhase.PENDING.value
    attempt: Annotated[int, Meta(description="The number of restarts.", ge=0)] = 0
    begun_by: Annotated[str, Meta(description="The request that restarted it last.")] = ""
    message: Annotated[str, Meta(description="Why the operation failed.")] = ""
    requested: Annotated[int, Meta(description="The number of requested objects.", ge=0)] = 0
    created: Annotated[int, Meta(description="The number of created objects.", ge=0)] = 0
    objects: Annotated[tuple[OperationObject, ...], Meta(description="The created objects.")] = ()
    started_at: Annotated[Timestamp, Meta(description="When the operation began to run.")] = ""
    updated_at: Annotated[Timestamp, Meta(description="When this status last changed.")] = ""
    finished_at: Annotated[Timestamp, Meta(description="When it succeeded or failed.")] = ""


class Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One idempotent request, stored durably; its name is a hash of the operationID."""

    metadata: ObjectMeta
    spec: Annotated[OperationSpec, Meta(description="The request.")]
    status: Annotated[OperationStatus, Meta(description="The progress and the result.")] = (
        OperationStatus()
    )


def succeeded_status(kind: str, metadata: ObjectMeta) -> dict[str, Any]:
    """Return the status of an operation whose one object exists, as a merge patch."""
    created = {
        "kind": kind,
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
    }
    return {
        "phase": OperationPhase.SUCCEEDED.value,
        "requested": 1,
        "created": 1,
        "objects": [created],
    }


def requested_count(operation: Operation) -> int:
    """Return the number of requested objects.

    A new operation has no status yet; then the number is in its request.
    """
    replicas = (operation.spec.request or {}).get("replicas", 1)
    return operation.status.requested or (replicas if isinstance(replicas, int) else 1)
