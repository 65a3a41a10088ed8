"""Schemas of the spec catalogue."""

from marshmallow import Schema, fields

from apiserver.schemas.resources import TolerationSchema
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema


class SpecViewSchema(ObjectViewSchema):
    """A spec of the catalogue with its stock."""

    spec_name = fields.String(attribute="resources.spec_name", required=True)
    description = fields.String()
    cpu = fields.String(attribute="resources.cpu")
    memory = fields.String(attribute="resources.memory")
    gpu = fields.Integer(attribute="resources.gpu", required=True)
    gpu_resource = fields.String(attribute="resources.gpu_resource")
    node_selector = fields.Dict(
        keys=fields.String(), values=fields.String(), attribute="resources.node_selector"
    )
    tolerations = fields.List(fields.Nested(TolerationSchema), attribute="resources.tolerations")
    shm_size = fields.String(attribute="resources.shm_size")
    stock = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        metadata={"description": "The number of stock units, by phase."},
    )
    available = fields.Integer(
        required=True, metadata={"description": "The number of ready and unclaimed stock units."}
    )
    capacity = fields.Integer(
        metadata={"description": "The number of units that fit on the nodes, if it is known."}
    )


class SpecListAnswerSchema(Schema):
    """The envelope of all specs."""

    data = fields.List(fields.Nested(SpecViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)
