"""The resources of a unit: the same for stock, pools and active units."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from shared.k8s.pod import Toleration
from shared.v1alpha1.schema import QuantityText, SpecName

DEFAULT_GPU_RESOURCE: Final = "nvidia.com/gpu"


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
