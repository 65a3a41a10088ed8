"""The simulated GPU nodes."""

from dataclasses import dataclass
from typing import Any

NODE_NAME_PREFIX = "gpu-"
GPU_PRODUCT = "NVIDIA-H100-80GB-HBM3"


@dataclass(frozen=True)
class Fleet:
    """The number of nodes, and of GPUs on each."""

    nodes: int = 4
    gpus: int = 8


def node_names(fleet: Fleet) -> list[str]:
    return [f"{NODE_NAME_PREFIX}{number}" for number in range(fleet.nodes)]


def node_manifest(name: str, fleet: Fleet) -> dict[str, Any]:
    """Return a node as the kubelet of a GPU machine registers it; kwok sets the conditions."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": node_labels(name, fleet)},
        "status": {"capacity": node_resources(fleet), "allocatable": node_resources(fleet)},
    }


def node_labels(name: str, fleet: Fleet) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": "zone-a",
        "node.kubernetes.io/instance-type": "simulated",
        "nvidia.com/gpu.product": GPU_PRODUCT,
        "nvidia.com/gpu.count": str(fleet.gpus),
        "nvidia.com/gpu.memory": "81559",
    }


def node_resources(fleet: Fleet) -> dict[str, str]:
    return {
        "cpu": "128",
        "memory": "1Ti",
        "pods": "110",
        "ephemeral-storage": "2Ti",
        "nvidia.com/gpu": str(fleet.gpus),
    }
