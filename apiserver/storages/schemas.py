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
    """The source of the initial content: a program, or another storage."""

    model = PrepareSpec
    from_image = ImageField(
        max_length=MAX_IMAGE_LENGTH,
        description="An image whose program writes the initial content.",
    )
    command = StrictList(
        StrictString(), metadata={"description": "Replaces the entrypoint of the image."}
    )
    args = StrictList(
        StrictString(), metadata={"description": "Replaces the arguments of the image."}
    )
    from_storage_name = Name(description="The storage whose files are copied.")

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_source(self, data: dict[str, Any], original: object, **_: Any) -> None:
        """Refuse none or two sources, and arguments without a program."""
        if not isinstance(original, Mapping):
            return
        if ("fromImage" in original) == ("fromStorageName" in original):
            raise ValidationError("must have either fromImage or fromStorageName")
        if "fromImage" not in original and (data.get("command") or data.get("args")):
            raise ValidationError("command and args require fromImage")


class AccessorSchema(ModelSchema[AccessorSpec]):
    """The accessor, a read-only file server."""

    model = AccessorSpec
    enabled = StrictBoolean(
        required=True, metadata={"description": "Whether a read-only file server runs."}
    )


def _is_storage_class_name(name: str) -> bool:
    return name == "" or is_dns_subdomain(name)


def _size_field(**options: Any) -> QuantityField:
    return QuantityField(
        description="The size, such as 100Gi; it can grow but not shrink.", **options
    )


class CreateStorageSchema(RequestSchema[CreateStorage]):
    """A request that creates a storage."""

    operation_id = OperationID()
    name = Name(required=True, description="The name of the storage.")
    size = _size_field(required=True)
    storage_class_name = StrictString(
        validate=predicate_validator(
            _is_storage_class_name,
            f"is not the name of a StorageClass: {name_syntax.DNS_SUBDOMAIN_SYNTAX}",
        ),
        metadata={
            "description": "The StorageClass; empty: the default class of the cluster; "
            "absent: the configured class."
        },
    )
    prepare = StrictNested(PrepareSchema)
    accessor = StrictNested(AccessorSchema)
    labels = LabelsField(targets="the storage")

    @validates_schema(skip_on_field_errors=False)
    def check_source(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a storage that is its own source."""
        prepare = data.get("prepare", {})  # a dict of the valid fields if others have errors
        is_partial = isinstance(prepare, dict)
        source = prepare.get("from_storage_name") if is_partial else prepare.from_storage_name
        if source and source == data.get("name"):
            raise ValidationError({"prepare": {"fromStorageName": ["is the storage itself"]}})

    def build(self, data: dict[str, Any]) -> CreateStorage:
        """Return the command; without an operationID it cannot be repeated."""
        return CreateStorage(**{"operation_id": "", **data})


class ChangeStorageSchema(RequestSchema[ChangeStorage]):
    """A change of a storage: absent fields stay, an object replaces the stored one, null clears."""

    unsupported_fields: ClassVar[Mapping[str, str]] = {
        "name": "cannot be changed; create another storage, prepared from this one",
        "prepare": "cannot be changed: a storage is prepared once; create another storage",
        "storageClassName": "cannot be changed; create another storage, prepared from this one",
    }

    size = _size_field()
    accessor = StrictNested(AccessorSchema, allow_none=True)
    labels = LabelsField(targets="the storage", allow_none=True)

    def build(self, data: dict[str, Any]) -> ChangeStorage:
        """Return the command, without the name of the storage."""
        return ChangeStorage(name="", **data)


class PrepareStatusSchema(ObjectViewSchema):
    """The state of the prepare."""

    phase = fields.String(metadata={"enum": [phase.value for phase in PreparePhase]})
    job_name = fields.String(metadata={"description": "The prepare Job."})


class AccessorStatusSchema(ObjectViewSchema):
    """The state of the accessor."""

    phase = fields.String(metadata={"enum": [phase.value for phase in AccessorPhase]})
    service_name = fields.String()
    access_url = fields.String(
        data_key="accessURL", metadata={"description": "The address of the accessor."}
    )


class GPUStorageViewSchema(ObjectViewSchema):
    """A storage and the unit that mounts it."""

    name = fields.String(attribute="metadata.name", required=True)
    namespace = fields.String(attribute="metadata.namespace", required=True)
    uid = fields.String(attribute="metadata.uid", required=True)
    labels = CallerLabels()
    size = fields.String(attribute="spec.size", metadata={"description": "The requested size."})
    storage_class_name = fields.String(attribute="spec.storage_class_name")
    prepare = fields.Nested(PrepareSchema, attribute="spec.prepare")
    accessor = fields.Nested(AccessorSchema, attribute="spec.accessor")
    phase = fields.String(attribute="status.phase")
    claim_name = fields.String(attribute="status.claim_name")
    capacity = fields.String(
        attribute="status.capacity", metadata={"description": "The current size of the volume."}
    )
    prepare_status = fields.Nested(PrepareStatusSchema, attribute="status.prepare")
    accessor_status = fields.Nested(AccessorStatusSchema, attribute="status.accessor")
    mounted_by = fields.String(
        attribute="status.mounted_by", metadata={"description": "The unit that mounts the storage."}
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
    """The envelope of a page of storages."""

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
