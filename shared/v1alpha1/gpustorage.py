"""GPUStorage: files that outlive the units that use them."""

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
            description="An image whose program fills the storage.", min_length=1, max_length=1024
        ),
    ] = ""
    command: Annotated[
        tuple[str, ...], Meta(description="Replaces the entrypoint of the image.")
    ] = ()
    args: Annotated[tuple[str, ...], Meta(description="Replaces the arguments of the image.")] = ()
    from_storage_name: Annotated[
        str, Meta(description="A GPUStorage whose files are copied.", min_length=1, max_length=63)
    ] = ""


class AccessorSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Read-only browsing over HTTP."""

    enabled: Annotated[bool, Meta(description="Whether the files can be browsed.")] = False


class GPUStorageSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The desired state of a storage."""

    size: Annotated[QuantityText, Meta(description="How much it holds; it can grow.")]
    storage_class_name: Annotated[
        str | None,
        Meta(
            description="The StorageClass; empty is the cluster's default, "
            "without it the configuration decides."
        ),
    ] = None
    prepare: Annotated[
        PrepareSpec | None, Meta(description="What it is filled with; cannot be changed.")
    ] = None
    accessor: Annotated[AccessorSpec | None, Meta(description="Browsing of the files.")] = None


class PrepareStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The progress of the preparation."""

    phase: Annotated[
        str,
        Meta(description="How far along it is.", extra_json_schema=enum_schema(PreparePhase)),
    ] = ""
    job_name: Annotated[str, Meta(description="The Job that fills the storage.")] = ""
    observed_digest: Annotated[
        str, Meta(description="The hash of the prepare spec that this is about.")
    ] = ""
    recovered_by: Annotated[
        str, Meta(description="The request to recover that was acted on last.")
    ] = ""
    prior_request: Annotated[
        str,
        Meta(description="The request to recover that is older than the failure: not acted on."),
    ] = ""
    message: Annotated[str, Meta(description="Why it failed.")] = ""
    recovery_phase: Annotated[
        str, Meta(description="How far along a recovery after a failure is.")
    ] = ""


class AccessorStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of the accessor."""

    phase: Annotated[
        str,
        Meta(description="How far along it is.", extra_json_schema=enum_schema(AccessorPhase)),
    ] = ""
    service_name: Annotated[str, Meta(description="The Service of the accessor.")] = ""
    access_url: Annotated[str, Meta(description="Where the files are browsed in the cluster.")] = (
        field(name="accessURL", default="")
    )


class GPUStorageStatus(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The state of a storage that the controller observes."""

    phase: Annotated[
        str,
        Meta(
            description="How far along the storage is.", extra_json_schema=enum_schema(StoragePhase)
        ),
    ] = ""
    claim_name: Annotated[str, Meta(description="The PersistentVolumeClaim, once it is there.")] = (
        ""
    )
    storage_class_name: Annotated[
        str, Meta(description="The StorageClass that the claim has got.")
    ] = ""
    capacity: Annotated[str, Meta(description="How much the volume holds now.")] = ""
    prepare: Annotated[PrepareStatus | None, Meta(description="How far along the filling is.")] = (
        None
    )
    accessor: Annotated[
        AccessorStatus | None, Meta(description="How far along the browsing is.")
    ] = None
    mounted_by: Annotated[str, Meta(description="The unit that has the storage mounted.")] = ""
    observed_generation: ObservedGeneration = 0
    last_sync_time: Annotated[Timestamp, Meta(description="When this status last changed.")] = ""
    conditions: ConditionList = ()


class GPUStorage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Files with a life of their own: deleting a unit never deletes its data."""

    metadata: ObjectMeta
    spec: Annotated[GPUStorageSpec, Meta(description="What is asked of the storage.")]
    status: Annotated[GPUStorageStatus, Meta(description="What is seen of it.")] = (
        GPUStorageStatus()
    )
