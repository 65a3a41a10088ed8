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

    replicas: Annotated[int, Meta(description="How many unclaimed units to keep.", ge=0)] = 0
    max_unavailable: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="How many units may start at once; without it, all."),
    ] = None


class StockPoolStatus(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The state of a pool that the controller observes."""

    phase: Annotated[
        str,
        Meta(description="How far along the pool is.", extra_json_schema=enum_schema(PoolPhase)),
    ] = ""
    replicas: Annotated[int, Meta(description="How many unclaimed units there are.", ge=0)] = 0
    available: Annotated[
        int,
        Meta(
            description="How many units are ready and unclaimed.",
            ge=0,
            extra_json_schema=zero_default(),
        ),
    ] = 0
    allocated: Annotated[
        int,
        Meta(
            description="How many units were consumed in total.",
            ge=0,
            extra_json_schema=zero_default(),
        ),
    ] = 0
    claimed: Annotated[
        tuple[str, ...],
        Meta(description="The uids of claimed units; one that is gone was consumed."),
    ] = ()
    selector: Annotated[
        str, Meta(description="Selects the pool's units and pods, for autoscalers.")
    ] = ""
    observed_generation: ObservedGeneration = 0
    conditions: ConditionList = ()


class StockPool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Keeps a number of unclaimed stock units: a consumed one is replaced."""

    metadata: ObjectMeta
    spec: Annotated[StockPoolSpec, Meta(description="What stock there shall be.")]
    status: Annotated[StockPoolStatus, Meta(description="What stock there is.")] = StockPoolStatus()
