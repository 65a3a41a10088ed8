"""How the parts of a storage look on the wire."""

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError, fields, validates_schema

from apiserver.schemas.fields import StrictBoolean, StrictList, StrictString
from apiserver.schemas.images import ImageField
from apiserver.schemas.names import Name
from apiserver.schemas.part import ModelSchema
from apiserver.schemas.response import ObjectViewSchema
from shared.v1alpha1.gpustorage import AccessorSpec, PrepareSpec
from shared.v1alpha1.phases import AccessorPhase, PreparePhase

MAX_IMAGE_LENGTH: Final = 1024


class PrepareSchema(ModelSchema[PrepareSpec]):
    """What the storage is filled with, once: by a program or from another storage."""

    model = PrepareSpec
    from_image = ImageField(
        max_length=MAX_IMAGE_LENGTH, description="An image whose program fills the storage."
    )
    command = StrictList(
        StrictString(), metadata={"description": "Replaces the entrypoint of the image."}
    )
    args = StrictList(
        StrictString(), metadata={"description": "Replaces the arguments of the image."}
    )
    from_storage_name = Name(description="A storage whose files are copied.")

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_source(self, data: dict[str, Any], original: object, **_: Any) -> None:
        """Refuse all but one source, and arguments of no program."""
        if not isinstance(original, Mapping):
            return
        if ("fromImage" in original) == ("fromStorageName" in original):
            raise ValidationError("give either fromImage or fromStorageName")
        if "fromImage" not in original and (data.get("command") or data.get("args")):
            raise ValidationError("command and args go with fromImage")


class AccessorSchema(ModelSchema[AccessorSpec]):
    """Read-only browsing over HTTP."""

    model = AccessorSpec
    enabled = StrictBoolean(
        required=True, metadata={"description": "Whether the files can be browsed."}
    )


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
