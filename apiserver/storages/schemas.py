"""How storages look on the wire."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, validates_schema

from apiserver.commands import ChangeStorage, CreateStorage
from apiserver.schemas.fields import StrictNested, StrictString, predicate_validator
from apiserver.schemas.names import LabelsField, Name, OperationID, QuantityField
from apiserver.schemas.request import RequestSchema
from apiserver.schemas.response import ObjectViewSchema, PageMetaSchema
from apiserver.schemas.view_fields import (
    AnnotationValue,
    CallerLabels,
    DeletedFlag,
    ObservedGeneration,
    ReadyConditionField,
    Timestamp,
)
from apiserver.storages.storage_parts import (
    AccessorSchema,
    AccessorStatusSchema,
    PrepareSchema,
    PrepareStatusSchema,
)
from shared.k8s import name_syntax
from shared.k8s.name_syntax import is_dns_subdomain
from shared.v1alpha1 import wellknown


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
    labels = LabelsField(targets="the storage will")

    @validates_schema(skip_on_field_errors=False)
    def check_source(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a storage that shall be filled from itself."""
        prepare = data.get("prepare", {})  # also what is right of one that is wrong somewhere
        is_wrong = isinstance(prepare, dict)
        source = prepare.get("from_storage_name") if is_wrong else prepare.from_storage_name
        if source and source == data.get("name"):
            raise ValidationError({"prepare": {"fromStorageName": ["is the storage itself"]}})

    def build(self, data: dict[str, Any]) -> CreateStorage:
        """The command; one without an operationID can be sent once only."""
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
    labels = LabelsField(targets="the storage will", allow_none=True)

    def build(self, data: dict[str, Any]) -> ChangeStorage:
        """The command, which lacks the name of the storage."""
        return ChangeStorage(name="", **data)


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
