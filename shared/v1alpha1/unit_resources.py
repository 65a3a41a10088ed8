"""The resources of a unit: the same for stock, pools and active units."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from shared.v1alpha1.schema import QuantityText, SpecName

DEFAULT_GPU_RESOURCE: Final = "nvidia.com/gpu"


class Toleration(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A toleration of node taints, as in the spec of a pod."""

    key: Annotated[str, Meta(description="The key of the taint; empty: every key.")] = ""
    operator: Annotated[
        str, Meta(description="The comparison of the value, Equal or Exists; empty: Equal.")
    ] = ""
    value: Annotated[str, Meta(description="The value of the taint; empty for Exists.")] = ""
    effect: Annotated[str, Meta(description="The effect of the taint; empty: every effect.")] = ""
    toleration_seconds: Annotated[
        int | None,
        Meta(description="Seconds for which NoExecute is tolerated; absent: without a limit."),
    ] = None


class UnitResources(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The resources of a unit, and the nodes that may provide them."""

    spec_name: Annotated[SpecName, Meta(description="The name of the machine spec, such as g1.1.")]
    cpu: Annotated[QuantityText, Meta(description="The CPU request and limit.")] = ""
    # No pattern: a bad value in a manifest must lead to InvalidSpec with a readable message.
    memory: Annotated[str, Meta(description="The memory request and limit.")] = ""
    gpu: Annotated[int, Meta(description="The number of GPUs.", ge=0)] = 0
    gpu_resource: Annotated[
        str, Meta(description="The name of the GPU resource of the nodes.", min_length=1)
    ] = DEFAULT_GPU_RESOURCE
    node_selector: Annotated[dict[str, str], Meta(description="Labels that a node must have.")] = {}
    tolerations: Annotated[
        tuple[Toleration, ...], Meta(description="Node taints that the pod tolerates.")
    ] = ()
    shm_size: Annotated[
        QuantityText, Meta(description="The size of /dev/shm; empty: half of the memory.")
    ] = ""
