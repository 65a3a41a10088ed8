"""Schemas of stock pools."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, fields, validate

from apiserver.schemas.fields import StrictInteger
from apiserver.schemas.names import Name, OperationID, SpecName
from apiserver.schemas.request import C, RequestSchema
from apiserver.schemas.resources import (
    MAX_INT32,
    GPUCount,
    GPUResource,
    NodeSelector,
    Tolerations,
    TolerationSchema,
    cpu_field,
    memory_field,
    shm_size_field,
)
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.view_fields import (
    AnnotationValue,
    DeletedFlag,
    ObservedGeneration,
    ReadyConditionField,
    Timestamp,
)
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from shared.v1alpha1 import wellknown


class _PoolSettingsSchema(RequestSchema[C]):
    replicas = StrictInteger(
        validate=validate.Range(0, MAX_INT32, error="must be from {min} to {max}"),
        metadata={"description": "The number of unclaimed stock units to keep."},
    )
    max_unavailable = StrictInteger(
        validate=validate.Range(1, MAX_INT32, error="must be from {min} to {max}"),
        metadata={"description": "How many may start at the same time; default: all."},
    )
    cpu = cpu_field()
    memory = memory_field()
    gpu = GPUCount()
    gpu_resource = GPUResource()
    node_selector = NodeSelector()
    tolerations = Tolerations()
    shm_size = shm_size_field()


class PoolSettingsSchema(_PoolSettingsSchema[PoolSettings]):
    """The settings of a pool: all fields except its name and spec name."""

    unsupported_fields: ClassVar[Mapping[str, str]] = {
        "specName": "cannot be changed; create another pool"
    }

    def build(self, data: dict[str, Any]) -> PoolSettings:
        """Return the settings."""
        return PoolSettings(**data)


class CreatePoolSchema(_PoolSettingsSchema[CreatePool]):
    """A request that creates a stock pool."""

    operation_id = OperationID(required=True)
    name = Name(required=True, description="The name of the pool.")
    spec_name = SpecName(required=True)

    def build(self, data: dict[str, Any]) -> CreatePool:
        """Return the command."""
        operation_id, name, spec_name = (
            data.pop(field) for field in ("operation_id", "name", "spec_name")
        )
        return CreatePool(operation_id, name, spec_name, PoolSettings(**data))


class StockPoolViewSchema(ObjectViewSchema):
    """A pool and the counts of its stock."""

    name = fields.String(attribute="metadata.name", required=True)
    namespace = fields.String(attribute="metadata.namespace", required=True)
    uid = fields.String(attribute="metadata.uid", required=True)
    spec_name = fields.String(attribute="spec.spec_name")
    cpu = fields.String(attribute="spec.cpu")
    memory = fields.String(attribute="spec.memory")
    gpu = fields.Integer(attribute="spec.gpu")
    gpu_resource = fields.String(attribute="spec.gpu_resource")
    node_selector = fields.Dict(
        keys=fields.String(), values=fields.String(), attribute="spec.node_selector"
    )
    tolerations = fields.List(fields.Nested(TolerationSchema), attribute="spec.tolerations")
    shm_size = fields.String(attribute="spec.shm_size")
    replicas = fields.Integer(
        attribute="spec.replicas",
        metadata={"description": "The requested number of unclaimed stock units."},
    )
    max_unavailable = fields.Integer(attribute="spec.max_unavailable")
    current_replicas = fields.Integer(
        attribute="status.replicas",
        metadata={"description": "The current number of unclaimed stock units."},
    )
    available = fields.Integer(
        attribute="status.available",
        metadata={"description": "The number of ready and unclaimed stock units."},
    )
    allocated = fields.Integer(
        attribute="status.allocated",
        metadata={"description": "The number of stock units consumed so far."},
    )
    phase = fields.String(attribute="status.phase")
    reason = ReadyConditionField("reason")
    message = ReadyConditionField("message")
    observed_generation = ObservedGeneration()
    operation_id = AnnotationValue(wellknown.OPERATION_ID_ANNOTATION, data_key="operationID")
    created_at = Timestamp("metadata.creation_timestamp")
    deleted = DeletedFlag()


class StockPoolAnswerSchema(Schema):
    """The envelope of one pool."""

    data = fields.Nested(StockPoolViewSchema, required=True)


class StockPoolListAnswerSchema(Schema):
    """The envelope of a page of pools."""

    data = fields.List(fields.Nested(StockPoolViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)
