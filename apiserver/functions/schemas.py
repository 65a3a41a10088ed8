"""Schemas of functions."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from apiserver.functions.commands import (
    ChangeFunction,
    CreateFunction,
    DeleteFunction,
    ListFunctions,
    QueuedWorkPolicy,
)
from apiserver.schemas.fields import (
    StrictInteger,
    StrictNested,
    StrictString,
)
from apiserver.schemas.mounts import StorageMountSchema, StorageMountsField
from apiserver.schemas.names import OperationID, SpecName
from apiserver.schemas.queries import PagedQuerySchema, QuerySchema
from apiserver.schemas.request import C, RequestSchema
from apiserver.schemas.resources import MAX_INT32
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.serverless import FrameworkSchema, FunctionName
from apiserver.schemas.template import ImageField, TemplateSchema
from apiserver.schemas.view_fields import (
    AnnotationValue,
    DeletedFlag,
    ObservedGeneration,
    ReadyConditionField,
    Timestamp,
)
from shared.v1alpha1 import wellknown
from shared.v1alpha1.phases import FunctionPhase

MAX_WORKERS: Final = 1000
MAX_TIMEOUT_SECONDS: Final = 3570


def _bounded_integer(minimum: int, maximum: int, description: str, **options: Any) -> StrictInteger:
    return StrictInteger(
        validate=validate.Range(minimum, maximum, error="must be from {min} to {max}"),
        metadata={"description": description},
        **options,
    )


class _FunctionSchema(RequestSchema[C]):
    """The settings of a function; with `is_nullable` null restores the default."""

    is_nullable: ClassVar[bool] = False

    template = StrictNested(TemplateSchema)
    storage_mounts = StorageMountsField()
    min_workers = _bounded_integer(0, MAX_WORKERS, "The minimum number of workers; default 0.")
    max_workers = _bounded_integer(1, MAX_WORKERS, "The maximum number of workers; default 1.")
    concurrency = _bounded_integer(1, 1000, "Invocations per worker at the same time; default 1.")
    target_backlog = _bounded_integer(
        1, MAX_INT32, "The target of queued and running invocations per slot; default 1."
    )
    idle_timeout_seconds = _bounded_integer(
        0, MAX_INT32, "Seconds until an idle worker is deleted; default 300."
    )
    timeout_seconds = _bounded_integer(
        1, MAX_TIMEOUT_SECONDS, "The maximum seconds of one attempt; default 300."
    )
    ttl_seconds = _bounded_integer(
        1,
        MAX_INT32,
        "The maximum seconds from acceptance to the final state, below the record retention; "
        "default 3600.",
    )
    max_attempts = _bounded_integer(
        1, MAX_INT32, "The maximum number of attempts of a run; default 3."
    )
    max_queued = _bounded_integer(
        1, MAX_INT32, "The maximum number of queued invocations; default 10000."
    )
    framework = StrictNested(FrameworkSchema)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, field in self.fields.items():
            field.allow_none = self.is_nullable and name != "image"


class CreateFunctionSchema(_FunctionSchema[CreateFunction]):
    """A request that creates a function."""

    operation_id = OperationID(required=True)
    name = FunctionName(required=True)
    spec_name = SpecName(required=True)
    image = ImageField(required=True)

    def build(self, data: dict[str, Any]) -> CreateFunction:
        """Return the command."""
        return CreateFunction(**data)


class ChangeFunctionSchema(_FunctionSchema[ChangeFunction]):
    """A change of a function: absent fields stay, objects are replaced, null is the default."""

    is_nullable = True
    unsupported_fields: ClassVar[Mapping[str, str]] = {
        "name": "cannot be changed; create another function",
        "specName": "cannot be changed; create another function",
    }

    image = ImageField()

    def build(self, data: dict[str, Any]) -> ChangeFunction:
        """Return the command, without the name of the function."""
        return ChangeFunction("", data)


class FunctionViewSchema(ObjectViewSchema):
    """A function, its workers and its queue."""

    name = fields.String(attribute="metadata.name", required=True)
    namespace = fields.String(attribute="metadata.namespace", required=True)
    uid = fields.String(attribute="metadata.uid", required=True)
    spec_name = fields.String(attribute="spec.spec_name")
    image = fields.String(attribute="spec.image")
    template = fields.Nested(TemplateSchema, attribute="spec.template")
    storage_mounts = fields.List(fields.Nested(StorageMountSchema), attribute="spec.storage_mounts")
    min_workers = fields.Integer(attribute="spec.min_workers")
    max_workers = fields.Integer(attribute="spec.max_workers")
    concurrency = fields.Integer(attribute="spec.concurrency")
    target_backlog = fields.Integer(attribute="spec.target_backlog")
    idle_timeout_seconds = fields.Integer(attribute="spec.idle_timeout_seconds")
    timeout_seconds = fields.Integer(attribute="spec.timeout_seconds")
    ttl_seconds = fields.Integer(attribute="spec.ttl_seconds")
    max_attempts = fields.Integer(attribute="spec.max_attempts")
    max_queued = fields.Integer(attribute="spec.max_queued")
    framework = fields.Nested(FrameworkSchema, attribute="spec.framework")
    phase = fields.String(attribute="status.phase")
    desired_workers = fields.Integer(attribute="status.desired_workers")
    workers = fields.Integer(attribute="status.workers")
    ready_workers = fields.Integer(attribute="status.ready_workers")
    queued = fields.Integer(
        attribute="status.queued",
        metadata={"description": "The number of queued invocations, a few seconds ago."},
    )
    running = fields.Integer(attribute="status.running")
    worker_counter = fields.Integer(attribute="status.worker_counter")
    last_activity_time = Timestamp("status.last_activity_time")
    observed_generation = ObservedGeneration()
    reason = ReadyConditionField("reason")
    message = ReadyConditionField("message")
    operation_id = AnnotationValue(wellknown.OPERATION_ID_ANNOTATION, data_key="operationID")
    created_at = Timestamp("metadata.creation_timestamp")
    deleting_since = Timestamp("metadata.deletion_timestamp")
    deleted = DeletedFlag()


class FunctionAnswerSchema(Schema):
    """The envelope of one function."""

    data = fields.Nested(FunctionViewSchema, required=True)


class FunctionListAnswerSchema(Schema):
    """The envelope of a page of functions."""

    data = fields.List(fields.Nested(FunctionViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


_FUNCTION_PHASES: Final = [phase.value for phase in FunctionPhase]


class FunctionsQuerySchema(PagedQuerySchema[ListFunctions]):
    """The parameters of the list of functions."""

    phase = StrictString(validate=validate.OneOf(_FUNCTION_PHASES, error="is not one of {choices}"))

    def build(self, data: dict[str, Any]) -> ListFunctions:
        """Return the query."""
        return ListFunctions(**data)


class QueryFlag(StrictString):
    """A parameter that is true or false."""

    def __init__(self, description: str) -> None:
        super().__init__(
            validate=validate.OneOf(["true", "false"], error="must be true or false"),
            metadata={"description": description},
        )


class DeleteFunctionQuerySchema(QuerySchema[DeleteFunction]):
    """The policy for queued work when a function is deleted."""

    drain = QueryFlag("Finish the queued and running invocations first.")
    purge = QueryFlag("Cancel the queued and running invocations first.")

    @validates_schema
    def check_exclusive(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse drain together with purge."""
        if data.get("drain") == data.get("purge") == "true":
            raise ValidationError({"purge": ["cannot be combined with drain: set one of them"]})

    def build(self, data: dict[str, Any]) -> DeleteFunction:
        """Return the command, without the name of the function."""
        policies = (policy for policy in QueuedWorkPolicy if data.get(policy.value) == "true")
        return DeleteFunction("", next(policies, None))
