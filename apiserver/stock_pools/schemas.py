"""How stock pools look on the wire."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, fields, validate

from apiserver.commands import CreatePool, PoolSettings
from apiserver.schemas.fields import Whole
from apiserver.schemas.names import Name, OperationID, SpecName
from apiserver.schemas.request import C, RequestSchema
from apiserver.schemas.resources import (
    MOST,
    GPUResource,
    GPUs,
    NodeSelector,
    Tolerations,
    TolerationSchema,
    cpu,
    memory,
    shm_size,
)
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.view_fields import Annotation, Deleted, Observed, ReadyCondition, Time
from shared.v1alpha1 import wellknown


class _SettingsSchema(RequestSchema[C]):
    replicas = Whole(
        validate=validate.Range(0, MOST, error="must be from {min} to {max}"),
        metadata={"description": "How many unclaimed stock units to keep."},
    )
    max_unavailable = Whole(
        validate=validate.Range(1, MOST, error="must be from {min} to {max}"),
        metadata={"description": "How many may start at once; without it, all."},
    )
    cpu = cpu()
    memory = memory()
    gpu = GPUs()
    gpu_resource = GPUResource()
    node_selector = NodeSelector()
    tolerations = Tolerations()
    shm_size = shm_size()


class PoolSettingsSchema(_SettingsSchema[PoolSettings]):
    """Everything of a pool but its name and spec name."""

    refusals: ClassVar[Mapping[str, str]] = {"specName": "cannot be changed: make another pool"}

    def make(self, data: dict[str, Any]) -> PoolSettings:
        """The settings."""
        return PoolSettings(**data)


class CreatePoolSchema(_SettingsSchema[CreatePool]):
    """Make a pool of stock that looks after itself."""

    operation_id = OperationID(required=True)
    name = Name(required=True, description="What the pool is called.")
    spec_name = SpecName(required=True)

    def make(self, data: dict[str, Any]) -> CreatePool:
        """The command."""
        operation_id, name, spec_name = (
            data.pop(each) for each in ("operation_id", "name", "spec_name")
        )
        return CreatePool(operation_id, name, spec_name, PoolSettings(**data))


class StockPoolViewSchema(ObjectViewSchema):
    """A pool and what stock it has."""

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
        attribute="spec.replicas", metadata={"description": "How many there shall be."}
    )
    max_unavailable = fields.Integer(attribute="spec.max_unavailable")
    current_replicas = fields.Integer(
        attribute="status.replicas", metadata={"description": "How many unclaimed ones there are."}
    )
    available = fields.Integer(
        attribute="status.available", metadata={"description": "How many are ready and unclaimed."}
    )
    allocated = fields.Integer(
        attribute="status.allocated", metadata={"description": "How many were consumed in total."}
    )
    phase = fields.String(attribute="status.phase")
    reason = ReadyCondition("reason")
    message = ReadyCondition("message")
    observed_generation = Observed()
    operation_id = Annotation(wellknown.OPERATION_ID, data_key="operationID")
    created_at = Time("metadata.creation_timestamp")
    deleted = Deleted()


class StockPoolAnswerSchema(Schema):
    """The envelope of one pool."""

    data = fields.Nested(StockPoolViewSchema, required=True)


class StockPoolListAnswerSchema(Schema):
    """The envelope of some pools."""

    data = fields.List(fields.Nested(StockPoolViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)
