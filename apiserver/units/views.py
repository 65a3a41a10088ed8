"""Views of units."""

from marshmallow import Schema, fields

from apiserver.schemas.mounts import StorageMountSchema
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.template import TemplateSchema
from apiserver.schemas.view_fields import (
    AnnotationValue,
    CallerLabels,
    ConstantString,
    DeletedFlag,
    ObservedGeneration,
    ReadyConditionField,
    Timestamp,
)
from apiserver.units.schemas import AccessSchema
from shared.v1alpha1 import wellknown


class UnitViewSchema(ObjectViewSchema):
    """The fields of both stock units and users' units."""

    name = fields.String(attribute="metadata.name", required=True)
    namespace = fields.String(attribute="metadata.namespace", required=True)
    uid = fields.String(attribute="metadata.uid", required=True)
    labels = CallerLabels()
    spec_name = fields.String(attribute="spec.spec_name")
    image = fields.String(attribute="spec.image")
    cpu = fields.String(attribute="spec.cpu")
    memory = fields.String(attribute="spec.memory")
    gpu = fields.Integer(attribute="spec.gpu")
    template = fields.Nested(TemplateSchema, attribute="spec.template")
    access = fields.Nested(AccessSchema, attribute="spec.access")
    storage_mounts = fields.List(fields.Nested(StorageMountSchema), attribute="spec.storage_mounts")
    phase = fields.String(attribute="status.phase")
    ready_replicas = fields.Integer(attribute="status.ready_replicas")
    observed_generation = ObservedGeneration()
    last_sync_time = Timestamp("status.last_sync_time")
    service_name = fields.String(attribute="status.service_name")
    access_url = fields.String(attribute="status.access_url", data_key="accessURL")
    node_name = fields.String(attribute="status.node_name")
    source_stock_name = AnnotationValue(wellknown.SOURCE_STOCK_NAME_ANNOTATION)
    source_stock_namespace = AnnotationValue(wellknown.SOURCE_STOCK_NAMESPACE_ANNOTATION)
    reason = ReadyConditionField("reason")
    message = ReadyConditionField("message")
    operation_id = AnnotationValue(wellknown.OPERATION_ID_ANNOTATION, data_key="operationID")
    created_at = Timestamp("metadata.creation_timestamp")


class GPUUnitViewSchema(UnitViewSchema):
    """A user's unit."""

    lifecycle = ConstantString("instance")
    deleted = DeletedFlag()


class StockUnitViewSchema(UnitViewSchema):
    """A stock unit, and its stock claim."""

    lifecycle = ConstantString("stock")
    claimed_by = AnnotationValue(wellknown.CLAIMED_BY_ANNOTATION)
    claim_operation = AnnotationValue(wellknown.CLAIM_OPERATION_ANNOTATION)
    claimed_at = AnnotationValue(wellknown.CLAIMED_AT_ANNOTATION, metadata={"format": "date-time"})


class GPUUnitAnswerSchema(Schema):
    """The envelope of one unit."""

    data = fields.Nested(GPUUnitViewSchema, required=True)


class GPUUnitListAnswerSchema(Schema):
    """The envelope of a page of units."""

    data = fields.List(fields.Nested(GPUUnitViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)
