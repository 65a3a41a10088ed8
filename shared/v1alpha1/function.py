"""Function: user code that answers invocations, with as many workers as its queue needs."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.phases import FunctionPhase
from shared.v1alpha1.schema import (
    ConditionList,
    ObservedGeneration,
    SpecName,
    Timestamp,
    enum_schema,
    zero_default,
)
from shared.v1alpha1.template import WorkloadTemplate

KIND: Final = "Function"
PLURAL: Final = "functions"


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The program of a function, its machines and its scaling."""

    spec_name: Annotated[
        SpecName, Meta(description="The machine spec of the workers, such as g1.1.")
    ]
    image: Annotated[str, Meta(description="The user's image.", min_length=1)]
    template: Annotated[WorkloadTemplate | None, Meta(description="What runs in a worker.")] = None
    storage_mounts: Annotated[
        tuple[StorageMount, ...],
        Meta(description="Storages whose files the worker sees; only where maxWorkers is 1."),
    ] = ()
    min_workers: Annotated[
        int, Meta(description="Workers that are kept without need.", ge=0, le=1000)
    ] = 0
    max_workers: Annotated[
        int, Meta(description="Workers that there are at most.", ge=1, le=1000)
    ] = 1
    concurrency: Annotated[
        int, Meta(description="Invocations that a worker runs at once.", ge=1, le=1000)
    ] = 1
    target_backlog: Annotated[
        int,
        Meta(description="Queued and running a slot before another worker starts.", ge=1),
    ] = 1
    idle_timeout_seconds: Annotated[
        int, Meta(description="How long a worker stays without need.", ge=0)
    ] = 300
    timeout_seconds: Annotated[
        int, Meta(description="How long one run may take.", ge=1, le=3570)
    ] = 300
    ttl_seconds: Annotated[
        int, Meta(description="How long from accepted to final at most.", ge=1)
    ] = 3600
    max_attempts: Annotated[
        int, Meta(description="How often an invocation is tried at most.", ge=1)
    ] = 3
    max_queued: Annotated[int, Meta(description="How many invocations may be queued.", ge=1)] = (
        10000
    )
    framework: Annotated[
        FrameworkEndpoint | None, Meta(description="How the user's code is reached.")
    ] = None


class FunctionStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of a function that the activator observes."""

    phase: Annotated[
        str,
        Meta(description="How far along it is.", extra_json_schema=enum_schema(FunctionPhase)),
    ] = ""
    desired_workers: Annotated[int, Meta(description="Workers that are needed.", ge=0)] = 0
    workers: Annotated[
        int, Meta(description="Workers that there are.", ge=0, extra_json_schema=zero_default())
    ] = 0
    ready_workers: Annotated[
        int, Meta(description="Workers that can take work.", ge=0, extra_json_schema=zero_default())
    ] = 0
    queued: Annotated[
        int, Meta(description="Invocations that wait.", ge=0, extra_json_schema=zero_default())
    ] = 0
    running: Annotated[int, Meta(description="Invocations that run.", ge=0)] = 0
    worker_counter: Annotated[
        int, Meta(description="The number of the last worker that was asked for.", ge=0)
    ] = 0
    settled_counter: Annotated[
        int, Meta(description="The number of the last worker whose making is over.", ge=0)
    ] = 0
    last_activity_time: Annotated[Timestamp, Meta(description="When it last had work.")] = ""
    observed_generation: ObservedGeneration = 0
    conditions: ConditionList = ()


class Function(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """User code in an image that answers invocations; its name is the requestID."""

    metadata: ObjectMeta
    spec: Annotated[FunctionSpec, Meta(description="What runs and how it scales.")]
    status: Annotated[FunctionStatus, Meta(description="How it is.")] = FunctionStatus()
