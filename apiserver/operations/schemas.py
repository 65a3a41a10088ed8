"""Schemas of jobs."""

from dataclasses import dataclass
from typing import Any, Final

from marshmallow import Schema, fields, post_dump, validate

from apiserver.schemas.fields import StrictString
from apiserver.schemas.queries import PagedQuerySchema
from apiserver.schemas.request import CamelSchema, drop_empty
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.view_fields import Timestamp
from shared.v1alpha1.operation import OperationType, requested_count
from shared.v1alpha1.phases import OperationPhase

JOB_TYPES: Final = {
    "seed_stock_units": OperationType.SEED_STOCK_UNITS,
    "create_gpu_unit": OperationType.CREATE_GPU_UNIT,
    "create_gpu_storage": OperationType.CREATE_GPU_STORAGE,
    "create_stock_pool": OperationType.CREATE_STOCK_POOL,
    "create_function": OperationType.CREATE_FUNCTION,
}
JOB_STATUSES: Final = {phase.value.lower(): phase for phase in OperationPhase}

_JOB_TYPE_NAMES: Final = {type_.value: name for name, type_ in JOB_TYPES.items()}


class _Type(fields.String):
    def _serialize(self, value: Any, *_: Any, **__: Any) -> str:
        return _JOB_TYPE_NAMES.get(value, str(value))


class _Status(fields.String):
    def _serialize(self, value: Any, *_: Any, **__: Any) -> str:
        return str(value).lower()


class _Requested(fields.Integer):
    _CHECK_ATTRIBUTE = False

    def _serialize(self, value: Any, attr: Any, obj: Any, **_: Any) -> int:
        return requested_count(obj)


class JobObjectSchema(CamelSchema):
    """An object that the job created."""

    kind = fields.String(required=True)
    namespace = fields.String(required=True)
    name = fields.String(required=True)
    uid = fields.String(required=True)


class JobViewSchema(ObjectViewSchema):
    """A request and its progress; succeeded means persisted, not ready."""

    operation_id = fields.String(
        attribute="spec.operation_id", data_key="operationID", required=True
    )
    type = _Type(attribute="spec.type", required=True, metadata={"enum": list(JOB_TYPES)})
    status = _Status(attribute="status.phase", required=True, metadata={"enum": list(JOB_STATUSES)})
    requested = _Requested(required=True)
    created = fields.Integer(attribute="status.created", required=True)
    error = fields.String(attribute="status.message")
    objects = fields.List(fields.Nested(JobObjectSchema), attribute="status.objects")
    created_at = Timestamp("metadata.creation_timestamp")
    updated_at = Timestamp("status.updated_at")

    @post_dump
    def drop_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop unset fields, except the list of objects."""
        return {"objects": [], **drop_empty(data)}


class JobAnswerSchema(Schema):
    """The envelope of one job."""

    data = fields.Nested(JobViewSchema, required=True)


class JobListAnswerSchema(Schema):
    """The envelope of a page of jobs."""

    data = fields.List(fields.Nested(JobViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


@dataclass(frozen=True, slots=True)
class JobsQuery:
    """A query for one page of jobs."""

    limit: int
    continue_token: str
    type: OperationType | None = None
    phase: OperationPhase | None = None


class JobsQuerySchema(PagedQuerySchema[JobsQuery]):
    """The parameters of the list of jobs."""

    type = StrictString(validate=validate.OneOf(list(JOB_TYPES), error="is not one of {choices}"))
    status = StrictString(
        validate=validate.OneOf(list(JOB_STATUSES), error="is not one of {choices}")
    )

    def build(self, data: dict[str, Any]) -> JobsQuery:
        """Return the query."""
        return JobsQuery(
            data["limit"],
            data["continue_token"],
            JOB_TYPES.get(data.get("type", "")),
            JOB_STATUSES.get(data.get("status", "")),
        )
