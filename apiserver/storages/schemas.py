"""Schemas of storages."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from apiserver.schemas.fields import (
    StrictBoolean,
    StrictList,
    StrictNested,
    StrictString,
    predicate_validator,
)
from apiserver.schemas.names import LabelsField, Name, OperationID, QuantityField
from apiserver.schemas.queries import LabelSelector, PagedQuerySchema
from apiserver.schemas.request import ModelSchema, RequestSchema
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.template import ImageField
from apiserver.schemas.view_fields import (
    AnnotationValue,
    CallerLabels,
    DeletedFlag,
    ObservedGeneration,
    ReadyConditionField,
    Timestamp,
)
from apiserver.storages.commands import ChangeStorage, CreateStorage, ListStorages
from shared.k8s import name_syntax
from shared.k8s.name_syntax import is_dns_subdomain
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import AccessorSpec, PrepareSpec
from shared.v1alpha1.phases import (
    AccessorPhase,
    PreparePhase,
    StoragePhase,
)

MAX_IMAGE_LENGTH: Final = 1024


class PrepareSchema(ModelSchema[PrepareSpec]):
    """What fills the storage once: a program, or a copy of another storage."""

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
        """Refuse none or two sources, and arguments without a program."""
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


def _is_storage_class_name(name: str) -> bool:
    return name == "" or is_dns_subdomain(name)


def _size_field(**options: Any) -> QuantityField:
    return QuantityField(description="How much it holds, such as 100Gi; it can grow.", **options)


class CreateStorageSchema(RequestSchema[CreateStorage]):
    """Make a storage, whose files outlive the units that use them."""

    operation_id = OperationID()
    name = Name(required=True, description="What the storage is called.")
    size = _size_field(required=True)
    storage_class_name = StrictString(
        validate=predicate_validator(
            _is_storage_class_name,
            f"is not the name of a class: {name_syntax.DNS_SUBDOMAIN_SYNTAX}",
        ),
        metadata={
            "description": "The StorageClass; empty is the cluster's default, "
            "without it the configuration decides."
        },
    )
    prepare = StrictNested(PrepareSchema)
    accessor = StrictNested(AccessorSchema)
    labels = LabelsField(targets="the storage")

    @validates_schema(skip_on_field_errors=False)
    def check_source(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a storage that is its own source."""
        prepare = data.get("prepare", {})  # a dict of the valid fields if others have errors
        is_wrong = isinstance(prepare, dict)
        source = prepare.get("from_storage_name") if is_wrong else prepare.from_storage_name
        if source and source == data.get("name"):
            raise ValidationError({"prepare": {"fromStorageName": ["is the storage itself"]}})

    def build(self, data: dict[str, Any]) -> CreateStorage:
        """Return the command; without an operationID it cannot be repeated."""
        return CreateStorage(**{"operation_id": "", **data})


class ChangeStorageSchema(RequestSchema[ChangeStorage]):
    """What is left out stays; an object replaces the stored one as a whole; null clears."""

    unsupported_fields: ClassVar[Mapping[str, str]] = {
        "name": "cannot be changed: make another storage, prepared from this one",
        "prepare": "cannot be changed: a storage is filled once; make another storage",
        "storageClassName": "cannot be changed: make another storage, prepared from this one",
    }

    size = _size_field()
    accessor = StrictNested(AccessorSchema, allow_none=True)
    labels = LabelsField(targets="the storage", allow_none=True)

    def build(self, data: dict[str, Any]) -> ChangeStorage:
        """Return the command, without the name of the storage."""
        return ChangeStorage(name="", **data)


class PrepareStatusSchema(ObjectViewSchema):
    """The state of the prepare."""

    phase = fields.String(metadata={"enum": [each.value for each in PreparePhase]})
    job_name = fields.String(metadata={"description": "The Job that fills the storage."})


class AccessorStatusSchema(ObjectViewSchema):
    """The state of the accessor."""

    phase = fields.String(metadata={"enum": [each.value for each in AccessorPhase]})
    service_name = fields.String()
    access_url = fields.String(
        data_key="accessURL", metadata={"description": "Where the files are browsed."}
    )


class GPUStorageViewSchema(ObjectViewSchema):
    """A storage, and who has it mounted."""

    name = fields.String(attribute="metadata.name", required=True)
    namespace = fields.String(attribute="metadata.namespace", required=True)
    uid = fields.String(attribute="metadata.uid", required=True)
    labels = CallerLabels()
    size = fields.String(attribute="spec.size", metadata={"description": "How much it shall hold."})
    storage_class_name = fields.String(attribute="spec.storage_class_name")
    prepare = fields.Nested(PrepareSchema, attribute="spec.prepare")
    accessor = fields.Nested(AccessorSchema, attribute="spec.accessor")
    phase = fields.String(attribute="status.phase")
    claim_name = fields.String(attribute="status.claim_name")
    capacity = fields.String(
        attribute="status.capacity", metadata={"description": "How much the volume holds now."}
    )
    prepare_status = fields.Nested(PrepareStatusSchema, attribute="status.prepare")
    accessor_status = fields.Nested(AccessorStatusSchema, attribute="status.accessor")
    mounted_by = fields.String(
        attribute="status.mounted_by", metadata={"description": "The unit that has it mounted."}
    )
    observed_generation = ObservedGeneration()
    last_sync_time = Timestamp("status.last_sync_time")
    reason = ReadyConditionField("reason")
    message = ReadyConditionField("message")
    operation_id = AnnotationValue(wellknown.OPERATION_ID_ANNOTATION, data_key="operationID")
    created_at = Timestamp("metadata.creation_timestamp")
    deleted = DeletedFlag()


class GPUStorageAnswerSchema(Schema):
    """The envelope of one storage."""

    data = fields.Nested(GPUStorageViewSchema, required=True)


class GPUStorageListAnswerSchema(Schema):
    """The envelope of some storages."""

    data = fields.List(fields.Nested(GPUStorageViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


_STORAGE_PHASES: Final = [phase.value for phase in StoragePhase]


class StoragesQuerySchema(PagedQuerySchema[ListStorages]):
    """The parameters of the list of storages."""

    phase = StrictString(validate=validate.OneOf(_STORAGE_PHASES, error="is not one of {choices}"))
    label = LabelSelector()

    def build(self, data: dict[str, Any]) -> ListStorages:
        """Return the query."""
        return ListStorages(**data)
