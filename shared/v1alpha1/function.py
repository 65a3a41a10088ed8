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
    image: Annotated[
        str, Meta(description="The container image with the user's code.", min_length=1)
    ]
    template: Annotated[
        WorkloadTemplate | None,
        Meta(description="The command, environment and ports of a worker."),
    ] = None
    storage_mounts: Annotated[
        tuple[StorageMount, ...],
        Meta(description="Storages to mount in the worker; only if maxWorkers is 1."),
    ] = ()
    min_workers: Annotated[
        int, Meta(description="The minimum number of workers, also without work.", ge=0, le=1000)
    ] = 0
    max_workers: Annotated[
        int, Meta(description="The maximum number of workers.", ge=1, le=1000)
    ] = 1
    concurrency: Annotated[
        int,
        Meta(
            description="The maximum number of invocations that a worker runs at the same time.",
            ge=1,
            le=1000,
        ),
    ] = 1
    target_backlog: Annotated[
        int,
        Meta(
            description="Queued and running invocations per slot of a worker; above this number, "
            "another worker starts.",
            ge=1,
        ),
    ] = 1
    idle_timeout_seconds: Annotated[
        int, Meta(description="Seconds until a worker that is not needed is deleted.", ge=0)
    ] = 300
    timeout_seconds: Annotated[
        int, Meta(description="The maximum seconds of one attempt.", ge=1, le=3570)
    ] = 300
    ttl_seconds: Annotated[
        int,
        Meta(description="Seconds from the acceptance of an invocation until it expires.", ge=1),
    ] = 3600
    max_attempts: Annotated[
        int, Meta(description="The maximum number of attempts of an invocation.", ge=1)
    ] = 3
    max_queued: Annotated[
        int, Meta(description="The maximum number of queued invocations.", ge=1)
    ] = 10000
    framework: Annotated[
        FrameworkEndpoint | None, Meta(description="The address of the user's code in a worker.")
    ] = None


class FunctionStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of a function that the activator observes."""

    phase: Annotated[
        str,
        Meta(
            description="The phase of the function.", extra_json_schema=enum_schema(FunctionPhase)
        ),
    ] = ""
    desired_workers: Annotated[
        int, Meta(description="The number of workers that the function needs.", ge=0)
    ] = 0
    workers: Annotated[
        int,
        Meta(description="The number of workers.", ge=0, extra_json_schema=zero_default()),
    ] = 0
    ready_workers: Annotated[
        int,
        Meta(description="The number of ready workers.", ge=0, extra_json_schema=zero_default()),
    ] = 0
    queued: Annotated[
        int,
        Meta(
            description="The number of queued invocations.",
            ge=0,
            extra_json_schema=zero_default(),
        ),
    ] = 0
    running: Annotated[int, Meta(description="The number of running invocations.", ge=0)] = 0
    worker_counter: Annotated[
        int,
        Meta(description="The number of the last worker whose creation was requested.", ge=0),
    ] = 0
    settled_counter: Annotated[
        int, Meta(description="The number of the last worker whose creation has ended.", ge=0)
    ] = 0
    last_activity_time: Annotated[
        Timestamp, Meta(description="When invocations were last queued or running.")
    ] = ""
    observed_generation: ObservedGeneration = 0
    conditions: ConditionList = ()


class Function(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """User code in an image that answers invocations; its name is the requestID in the API."""

    metadata: ObjectMeta
    spec: Annotated[FunctionSpec, Meta(description="The desired state of the function.")]
    status: Annotated[FunctionStatus, Meta(description="The observed state of the function.")] = (
        FunctionStatus()
    )
