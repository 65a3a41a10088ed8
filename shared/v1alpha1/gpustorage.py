"""GPUStorage: files that outlive the units that mount them."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, field

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.phases import AccessorPhase, PreparePhase, StoragePhase
from shared.v1alpha1.schema import (
    ConditionList,
    ObservedGeneration,
    QuantityText,
    Timestamp,
    enum_schema,
)

KIND: Final = "GPUStorage"
PLURAL: Final = "gpustorages"


class PrepareSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The source from which a storage is prepared, once: a program or another storage."""

    from_image: Annotated[
        str,
        Meta(
            description="An image whose program writes the initial content.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
    command: Annotated[
        tuple[str, ...], Meta(description="Replaces the entrypoint of the image.")
    ] = ()
    args: Annotated[tuple[str, ...], Meta(description="Replaces the arguments of the image.")] = ()
    from_storage_name: Annotated[
        str,
        Meta(
            description="A GPUStorage in the same namespace whose files are copied.",
            min_length=1,
            max_length=63,
        ),
    ] = ""


class AccessorSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The read-only HTTP file server of a storage."""

    enabled: Annotated[bool, Meta(description="Whether the file server runs.")] = False


class GPUStorageSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The desired state of a storage."""

    size: Annotated[QuantityText, Meta(description="The size of the volume; it can be raised.")]
    storage_class_name: Annotated[
        str | None,
        Meta(
            description="The StorageClass of the volume. Empty: the default class of the cluster. "
            "Absent: the class in the configuration of the controller."
        ),
    ] = None
    prepare: Annotated[
        PrepareSpec | None, Meta(description="The source of the initial content; immutable.")
    ] = None
    accessor: Annotated[
        AccessorSpec | None, Meta(description="The read-only file server of the storage.")
    ] = None


class PrepareStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The progress of the preparation."""

    phase: Annotated[
        str,
        Meta(
            description="The phase of the preparation.", extra_json_schema=enum_schema(PreparePhase)
        ),
    ] = ""
    job_name: Annotated[str, Meta(description="The Job that prepares the storage.")] = ""
    observed_digest: Annotated[
        str, Meta(description="The hash of the prepare spec that this status describes.")
    ] = ""
    recovered_by: Annotated[
        str, Meta(description="The recover request that started the last attempt.")
    ] = ""
    prior_request: Annotated[
        str,
        Meta(description="The recover request from before the failure; it starts no attempt."),
    ] = ""
    message: Annotated[str, Meta(description="Why the preparation failed.")] = ""
    recovery_phase: Annotated[
        str, Meta(description="The phase of the last recovery; empty if there was none.")
    ] = ""


class AccessorStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of the accessor."""

    phase: Annotated[
        str,
        Meta(
            description="The phase of the accessor.", extra_json_schema=enum_schema(AccessorPhase)
        ),
    ] = ""
    service_name: Annotated[str, Meta(description="The Service of the accessor.")] = ""
    access_url: Annotated[str, Meta(description="The URL of the files inside the cluster.")] = (
        field(name="accessURL", default="")
    )


class GPUStorageStatus(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The state of a storage that the controller observes."""

    phase: Annotated[
        str,
        Meta(description="The phase of the storage.", extra_json_schema=enum_schema(StoragePhase)),
    ] = ""
    claim_name: Annotated[str, Meta(description="The PersistentVolumeClaim, once it exists.")] = ""
    storage_class_name: Annotated[
        str, Meta(description="The StorageClass of the PersistentVolumeClaim.")
    ] = ""
    capacity: Annotated[str, Meta(description="The current size of the volume.")] = ""
    prepare: Annotated[PrepareStatus | None, Meta(description="The state of the preparation.")] = (
        None
    )
    accessor: Annotated[AccessorStatus | None, Meta(description="The state of the accessor.")] = (
        None
    )
    mounted_by: Annotated[str, Meta(description="The unit that mounts the storage.")] = ""
    observed_generation: ObservedGeneration = 0
    last_sync_time: Annotated[Timestamp, Meta(description="When this status last changed.")] = ""
    conditions: ConditionList = ()


class GPUStorage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Files that outlive the units that mount them: deleting a unit never deletes them."""

    metadata: ObjectMeta
    spec: Annotated[GPUStorageSpec, Meta(description="The desired state of the storage.")]
    status: Annotated[GPUStorageStatus, Meta(description="The observed state of the storage.")] = (
        GPUStorageStatus()
    )
