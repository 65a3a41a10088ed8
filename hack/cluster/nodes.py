"""The simulated GPU nodes."""

from dataclasses import dataclass
from typing import Any

NAME_PREFIX = "gpu-"
PRODUCT = "NVIDIA-H100-80GB-HBM3"


@dataclass(frozen=True)
class Fleet:
    """How many nodes there are and how many GPUs each has."""

    nodes: int = 4
    gpus: int = 8


def node_names(fleet: Fleet) -> list[str]:
    return [f"{NAME_PREFIX}{number}" for number in range(fleet.nodes)]


def node(name: str, fleet: Fleet) -> dict[str, Any]:
    """A node as a kubelet on a GPU machine would register it; kwok sets the conditions."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels(name, fleet)},
        "status": {"capacity": resources(fleet), "allocatable": resources(fleet)},
    }


def labels(name: str, fleet: Fleet) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": "zone-a",
        "node.kubernetes.io/instance-type": "simulated",
        "nvidia.com/gpu.product": PRODUCT,
        "nvidia.com/gpu.count": str(fleet.gpus),
        "nvidia.com/gpu.memory": "81559",
    }


def resources(fleet: Fleet) -> dict[str, str]:
    return {
        "cpu": "128",
        "memory": "1Ti",
        "pods": "110",
        "ephemeral-storage": "2Ti",
        "nvidia.com/gpu": str(fleet.gpus),
    }
