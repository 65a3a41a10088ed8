"""How the published address of a unit looks on the wire."""

from typing import Final

from marshmallow import validate

from apiserver.schemas.fields import StrictString
from apiserver.schemas.part import ModelSchema
from shared.v1alpha1.gpuunit import UnitAccess

SCHEMES: Final = ("http", "https", "tcp")


class AccessSchema(ModelSchema[UnitAccess]):
    """Which port the address is of, and its scheme."""

    model = UnitAccess
    primary_port = StrictString(
        metadata={"description": "The name of a port of the template; without it, the first."}
    )
    scheme = StrictString(
        validate=validate.OneOf(SCHEMES, error="must be http, https or tcp"),
        metadata={"default": "http"},
    )
