"""How the published address of a unit looks on the wire."""

from typing import Final

from marshmallow import validate

from apiserver.schemas.fields import Text
from apiserver.schemas.part import PartSchema
from shared.v1alpha1.gpuunit import Access

SCHEMES: Final = ("http", "https", "tcp")


class AccessSchema(PartSchema[Access]):
    """Which port the address is of, and its scheme."""

    model = Access
    primary_port = Text(
        metadata={"description": "The name of a port of the template; without it, the first."}
    )
    scheme = Text(
        validate=validate.OneOf(SCHEMES, error="must be http, https or tcp"),
        metadata={"default": "http"},
    )
