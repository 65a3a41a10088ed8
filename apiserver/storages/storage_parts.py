"""How the parts of a storage look on the wire."""

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError, fields, validates_schema

from apiserver.schemas.fields import ListOf, Text, YesNo
from apiserver.schemas.images import Image
from apiserver.schemas.names import Name
from apiserver.schemas.part import PartSchema
from apiserver.schemas.response import ObjectViewSchema
from shared.v1alpha1.gpustorage import Accessor, Prepare
from shared.v1alpha1.phases import AccessorPhase, PreparePhase

LONGEST_IMAGE: Final = 1024


class PrepareSchema(PartSchema[Prepare]):
    """What the storage is filled with, once: by a program or from another storage."""

    model = Prepare
    from_image = Image(
        longest=LONGEST_IMAGE, description="An image whose program fills the storage."
    )
    command = ListOf(Text(), metadata={"description": "Replaces the entrypoint of the image."})
    args = ListOf(Text(), metadata={"description": "Replaces the arguments of the image."})
    from_storage_name = Name(description="A storage whose files are copied.")

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_source(self, data: dict[str, Any], given: object, **_: Any) -> None:
        """Refuse all but one source, and arguments of no program."""
        if not isinstance(given, Mapping):
            return
        if ("fromImage" in given) == ("fromStorageName" in given):
            raise ValidationError("give either fromImage or fromStorageName")
        if "fromImage" not in given and (data.get("command") or data.get("args")):
            raise ValidationError("command and args go with fromImage")


class AccessorSchema(PartSchema[Accessor]):
    """Read-only browsing over HTTP."""

    model = Accessor
    enabled = YesNo(required=True, metadata={"description": "Whether the files can be browsed."})


class PrepareStatusSchema(ObjectViewSchema):
    """How far along the filling is."""

    phase = fields.String(metadata={"enum": [each.value for each in PreparePhase]})
    job_name = fields.String(metadata={"description": "The Job that fills the storage."})


class AccessorStatusSchema(ObjectViewSchema):
    """How far along the browsing is."""

    phase = fields.String(metadata={"enum": [each.value for each in AccessorPhase]})
    service_name = fields.String()
    access_url = fields.String(
        data_key="accessURL", metadata={"description": "Where the files are browsed."}
    )
