"""StockPool: a number of stock units that the controller keeps."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.schema import ConditionList, ObservedGeneration, enum_schema, zero_default
from shared.v1alpha1.unit_resources import UnitResources

KIND: Final = "StockPool"
PLURAL: Final = "stockpools"


class StockPoolSpec(UnitResources, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The resources of the stock units of a pool, and their number."""

    replicas: Annotated[int, Meta(description="The desired number of unclaimed units.", ge=0)] = 0
    max_unavailable: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The maximum number of units that start at once; absent: no limit."),
    ] = None


class StockPoolStatus(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The state of a pool that the controller observes."""

    phase: Annotated[
        str,
        Meta(description="The phase of the pool.", extra_json_schema=enum_schema(PoolPhase)),
    ] = ""
    replicas: Annotated[int, Meta(description="The number of unclaimed units.", ge=0)] = 0
    available: Annotated[
        int,
        Meta(
            description="The number of ready and unclaimed units.",
            ge=0,
            extra_json_schema=zero_default(),
        ),
    ] = 0
    allocated: Annotated[
        int,
        Meta(
            description="The total number of consumed units.",
            ge=0,
            extra_json_schema=zero_default(),
        ),
    ] = 0
    claimed: Annotated[
        tuple[str, ...],
        Meta(description="The uids of claimed units; a deleted one counts as consumed."),
    ] = ()
    selector: Annotated[
        str, Meta(description="The label selector of the units and pods, for autoscalers.")
    ] = ""
    observed_generation: ObservedGeneration = 0
    conditions: ConditionList = ()


class StockPool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A number of unclaimed stock units; the controller replaces consumed ones."""

    metadata: ObjectMeta
    spec: Annotated[StockPoolSpec, Meta(description="The desired state of the pool.")]
    status: Annotated[StockPoolStatus, Meta(description="The observed state of the pool.")] = (
        StockPoolStatus()
    )
