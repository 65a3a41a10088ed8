"""GPUUnit: a stock unit in the stock namespace, a user's machine in the instance namespace."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, field

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.phases import UnitPhase, WorkerPhase
from shared.v1alpha1.schema import ConditionList, ObservedGeneration, Timestamp, enum_schema
from shared.v1alpha1.template import WorkloadTemplate
from shared.v1alpha1.unit_resources import UnitResources

KIND: Final = "GPUUnit"
PLURAL: Final = "gpuunits"


class UnitAccess(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The settings of the published address of a unit."""

    primary_port: Annotated[
        str, Meta(description="The name of the port in the address; without it, the first.")
    ] = ""
    scheme: Annotated[str, Meta(description="The scheme of the address.")] = "http"


class ServerlessSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The function for which the unit works."""

    function_name: Annotated[str, Meta(description="The name of the Function.", min_length=1)] = (
        field(name="requestID")
    )
    framework: Annotated[
        FrameworkEndpoint | None, Meta(description="How the user's code is reached.")
    ] = None
    concurrency: Annotated[
        int, Meta(description="Invocations that it runs at once.", ge=1, le=1000)
    ] = 1
    timeout_seconds: Annotated[
        int, Meta(description="How long one run may take.", ge=1, le=3570)
    ] = 300


class GPUUnitSpec(UnitResources, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The desired state of a unit."""

    image: Annotated[str, Meta(description="The user's image; stock ignores it.")] = ""
    image_pull_secrets: Annotated[
        tuple[str, ...], Meta(description="Names of Secrets with which the image is pulled.")
    ] = ()
    template: Annotated[WorkloadTemplate | None, Meta(description="What runs in the unit.")] = None
    access: Annotated[UnitAccess | None, Meta(description="How the unit is reached.")] = None
    storage_mounts: Annotated[
        tuple[StorageMount, ...], Meta(description="Storages whose files the unit sees.")
    ] = ()
    serverless: Annotated[
        ServerlessSpec | None, Meta(description="Makes the unit a worker of a Function.")
    ] = None


class ServerlessStatus(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The state of the unit as a worker."""

    phase: Annotated[
        str,
        Meta(
            description="How far along the worker is.", extra_json_schema=enum_schema(WorkerPhase)
        ),
    ] = ""


class GPUUnitStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of a unit that the controller observes."""

    phase: Annotated[
        str,
        Meta(
            description="Ready, Failed for what will not heal by waiting, else Progressing.",
            extra_json_schema=enum_schema(UnitPhase),
        ),
    ] = ""
    ready_replicas: Annotated[int, Meta(description="How many pods are available.", ge=0)] = 0
    observed_generation: ObservedGeneration = 0
    last_sync_time: Annotated[Timestamp, Meta(description="When this status last changed.")] = ""
    service_name: Annotated[str, Meta(description="The Service of the unit's ports.")] = ""
    access_url: Annotated[
        str, Meta(description="Where the primary port is reached in the cluster.")
    ] = field(name="accessURL", default="")
    node_name: Annotated[str, Meta(description="The node that the unit's pod is on.")] = ""
    serverless: Annotated[
        ServerlessStatus | None, Meta(description="How the unit is as a worker.")
    ] = None
    conditions: ConditionList = ()


class GPUUnit(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A machine with GPUs: reserved in the stock namespace, a user's in the instance namespace."""

    metadata: ObjectMeta
    spec: Annotated[GPUUnitSpec, Meta(description="What is asked of the unit.")]
    status: Annotated[GPUUnitStatus, Meta(description="What is seen of it.")] = GPUUnitStatus()
