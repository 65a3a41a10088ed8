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

_NOT_FOR_STOCK_MESSAGE: Final = "cannot be set: a stock unit runs no user program"


class SeedStockSchema(RequestSchema[SeedStock]):
    """A request for a number of stock units of a spec."""

    unsupported_fields = dict.fromkeys(("image", "template", "access"), _NOT_FOR_STOCK_MESSAGE)

    operation_id = OperationID(required=True)
    spec_name = SpecName(required=True)
    memory = memory_field()
    gpu = GPUCount()
    replicas = StrictInteger(
        required=True, metadata={"description": "The number of stock units to create."}
    )

    def __init__(self, limits: RequestLimits | None = None, **options: Any) -> None:
        super().__init__(**options)
        max_replicas = (limits or RequestLimits()).max_seed_replicas
        self.fields["replicas"].validators = [
            validate.Range(1, max_replicas, error="must be from {min} to {max}")
        ]

    def build(self, data: dict[str, Any]) -> SeedStock:
        """Return the command."""
        return SeedStock(**data)


class StockCountSchema(CamelSchema):
    """The number of stock units of a spec in a phase."""

    spec_name = fields.String(required=True)
    phase = fields.String(required=True)
    count = fields.Integer(required=True)


class StockMetaSchema(PageMetaSchema):
    """The continue token of the list, and counts of all stock."""

    summary = fields.List(fields.Nested(StockCountSchema), required=True)


class StockListAnswerSchema(Schema):
    """The envelope of a page of stock units."""

    data = fields.List(fields.Nested(StockUnitViewSchema), required=True)
    meta = fields.Nested(StockMetaSchema, required=True)
