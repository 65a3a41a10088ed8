"""The resources of a unit: the same for stock, for pools and for the units made from stock."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from shared.v1alpha1.schema import QuantityText, SpecName

DEFAULT_GPU_RESOURCE: Final = "nvidia.com/gpu"


class Toleration(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A taint of nodes that does not keep the pod away."""

    key: Annotated[str, Meta(description="The key of the taint; empty is every key.")] = ""
    operator: Annotated[
        str, Meta(description="How the value compares, Equal or Exists; empty is Equal.")
    ] = ""
    value: Annotated[str, Meta(description="The value of the taint; empty with Exists.")] = ""
    effect: Annotated[str, Meta(description="The effect of the taint; empty is every effect.")] = ""
    toleration_seconds: Annotated[
        int | None, Meta(description="How long NoExecute is tolerated; without it, for ever.")
    ] = None


class UnitResources(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The resources of a unit, and the nodes that may provide them."""

    spec_name: Annotated[
        SpecName, Meta(description="The machine spec that users ask for, such as g1.1.")
    ]
    cpu: Annotated[QuantityText, Meta(description="CPU, both request and limit.")] = ""
    # No pattern: a bad value in a manifest must end as InvalidSpec, whose message people can read.
    memory: Annotated[str, Meta(description="Memory, both request and limit.")] = ""
    gpu: Annotated[int, Meta(description="How many GPUs; 0 asks for none.", ge=0)] = 0
    gpu_resource: Annotated[
        str, Meta(description="The resource that nodes offer GPUs as.", min_length=1)
    ] = DEFAULT_GPU_RESOURCE
    node_selector: Annotated[dict[str, str], Meta(description="Labels that a node must have.")] = {}
    tolerations: Annotated[
        tuple[Toleration, ...], Meta(description="Taints of nodes that are no hindrance.")
    ] = ()
    shm_size: Annotated[
        QuantityText, Meta(description="The size of /dev/shm; without it, half of the memory.")
    ] = ""
