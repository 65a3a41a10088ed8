"""GPUUnit: a stock unit in the stock namespace, an active unit in the instance namespace."""

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
    """The settings of the published URL of a unit."""

    primary_port: Annotated[
        str, Meta(description="The name of the port in the URL; empty: the first port.")
    ] = ""
    scheme: Annotated[str, Meta(description="The scheme of the URL.")] = "http"


class ServerlessSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The function for which the unit works."""

    function_name: Annotated[str, Meta(description="The name of the Function.", min_length=1)] = (
        field(name="requestID")
    )
    framework: Annotated[
        FrameworkEndpoint | None, Meta(description="The address of the user's code.")
    ] = None
    concurrency: Annotated[
        int,
        Meta(
            description="The maximum number of invocations that it runs at the same time.",
            ge=1,
            le=1000,
        ),
    ] = 1
    timeout_seconds: Annotated[
        int, Meta(description="The maximum seconds of one attempt.", ge=1, le=3570)
    ] = 300


class GPUUnitSpec(UnitResources, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The desired state of a unit."""

    image: Annotated[
        str, Meta(description="The container image of an active unit; ignored for stock units.")
    ] = ""
    image_pull_secrets: Annotated[
        tuple[str, ...], Meta(description="The Secrets for pulling the image.")
    ] = ()
    template: Annotated[
        WorkloadTemplate | None,
        Meta(description="The command, environment and ports of the unit."),
    ] = None
    access: Annotated[
        UnitAccess | None, Meta(description="The settings of the unit's published URL.")
    ] = None
    storage_mounts: Annotated[
        tuple[StorageMount, ...], Meta(description="Storages to mount in the unit.")
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
        Meta(description="The phase of the worker.", extra_json_schema=enum_schema(WorkerPhase)),
    ] = ""


class GPUUnitStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of a unit that the controller observes."""

    phase: Annotated[
        str,
        Meta(
            description="Ready, Failed if waiting does not help, or Progressing.",
            extra_json_schema=enum_schema(UnitPhase),
        ),
    ] = ""
    ready_replicas: Annotated[int, Meta(description="The number of available pods.", ge=0)] = 0
    observed_generation: ObservedGeneration = 0
    last_sync_time: Annotated[Timestamp, Meta(description="When this status last changed.")] = ""
    service_name: Annotated[str, Meta(description="The Service of the unit's ports.")] = ""
    access_url: Annotated[
        str, Meta(description="The URL of the primary port inside the cluster.")
    ] = field(name="accessURL", default="")
    node_name: Annotated[str, Meta(description="The node of the unit's pod.")] = ""
    serverless: Annotated[
        ServerlessStatus | None, Meta(description="The state of the unit as a worker.")
    ] = None
    conditions: ConditionList = ()


class GPUUnit(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A GPU machine: reserved in the stock namespace, in use in the instance namespace."""

    metadata: ObjectMeta
    spec: Annotated[GPUUnitSpec, Meta(description="The desired state of the unit.")]
    status: Annotated[GPUUnitStatus, Meta(description="The observed state of the unit.")] = (
        GPUUnitStatus()
    )
