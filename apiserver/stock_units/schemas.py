"""Schemas of stock units."""

from typing import Any, Final

from marshmallow import Schema, fields, validate

from apiserver.config import RequestLimits
from apiserver.schemas.fields import StrictInteger
from apiserver.schemas.names import OperationID, SpecName
from apiserver.schemas.request import CamelSchema, RequestSchema
from apiserver.schemas.resources import GPUCount, memory_field
from apiserver.schemas.response import PageMetaSchema
from apiserver.stock_units.commands import SeedStock
from apiserver.units.views import StockUnitViewSchema

_NOT_FOR_STOCK_MESSAGE: Final = "cannot be given: stock is not a user application"


class SeedStockSchema(RequestSchema[SeedStock]):
    """Make so many stock units of a spec."""

    unsupported_fields = dict.fromkeys(("image", "template", "access"), _NOT_FOR_STOCK_MESSAGE)

    operation_id = OperationID(required=True)
    spec_name = SpecName(required=True)
    memory = memory_field()
    gpu = GPUCount()
    replicas = StrictInteger(required=True, metadata={"description": "How many stock units."})

    def __init__(self, limits: RequestLimits | None = None, **options: Any) -> None:
        super().__init__(**options)
        most = (limits or RequestLimits()).max_seed_replicas
        self.fields["replicas"].validators = [
            validate.Range(1, most, error="must be from {min} to {max}")
        ]

    def build(self, data: dict[str, Any]) -> SeedStock:
        """Return the command."""
        return SeedStock(**data)


class StockCountSchema(CamelSchema):
    """How many stock units of a spec are in a phase."""

    spec_name = fields.String(required=True)
    phase = fields.String(required=True)
    count = fields.Integer(required=True)


class StockMetaSchema(PageMetaSchema):
    """The rest of the list, and counts of the whole stock."""

    summary = fields.List(fields.Nested(StockCountSchema), required=True)


class StockListAnswerSchema(Schema):
    """The envelope of some stock units."""

    data = fields.List(fields.Nested(StockUnitViewSchema), required=True)
    meta = fields.Nested(StockMetaSchema, required=True)
