"""What is known of the cluster, and how that knowledge changes: pure functions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from apiserver.health.unit_counts import UnitCounts
from apiserver.kube import errors as kube_errors
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion, unsupported

COUNT_INTERVAL: Final = 10.0

_GPU: Final = "nvidia.com/gpu"
_PRODUCT: Final = "nvidia.com/gpu.product"
_WHOLE: Final = re.compile(r"(\d+)(k|M|Ki|Mi|)", re.ASCII)
_SUFFIXES: Final = {"": 1, "k": 10**3, "M": 10**6, "Ki": 2**10, "Mi": 2**20}


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the nodes of a cluster hold together."""

    nodes: int
    ready: int
    gpu_capacity: int
    gpu_allocatable: int
    products: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What was last seen of the cluster; times are monotonic seconds."""

    connected: bool = False
    error: str | None = "the cluster has not been asked yet"
    too_old: bool = False
    version: str | None = None
    checked_at: float | None = None
    inventory: Inventory | None = None
    units: UnitCounts | None = None
    inventory_error: str | None = None
    counted_at: float | None = None
    count_tried_at: float | None = None


OFF: Final = ClusterState(error="Kubernetes is off by configuration (kubeMode: off)")


def answered(state: ClusterState, version: ServerVersion, now: float) -> ClusterState:
    """The server answered; after an outage the nodes are worth counting at once."""
    tried = state.count_tried_at if state.connected else None
    return replace(
        state,
        connected=True,
        error=None,
        too_old=False,
        version=version.git_version,
        checked_at=now,
        count_tried_at=tried,
    )


def lost(state: ClusterState, error: kube_errors.ClusterError, now: float) -> ClusterState:
    """The server cannot be used; what was counted stays, and its age shows how old it is."""
    too_old = isinstance(error, kube_errors.ClusterTooOldError)
    return replace(state, connected=False, error=str(error), too_old=too_old, checked_at=now)


def counted(
    state: ClusterState, inventory: Inventory, units: UnitCounts, now: float
) -> ClusterState:
    """The nodes and units were listed."""
    return replace(
        state,
        inventory=inventory,
        units=units,
        inventory_error=None,
        counted_at=now,
        count_tried_at=now,
    )


def not_counted(state: ClusterState, error: kube_errors.ClusterError, now: float) -> ClusterState:
    """The nodes or units could not be listed."""
    return replace(state, inventory_error=str(error), count_tried_at=now)


def first_count_is_awaited(state: ClusterState) -> bool:
    """Whether the nodes and units were never listed, nor was it refused."""
    return state.counted_at is None and state.inventory_error is None


def count_is_due(state: ClusterState, now: float) -> bool:
    """Whether the nodes should be listed again."""
    if not state.connected:
        return False
    return state.count_tried_at is None or now - state.count_tried_at >= COUNT_INTERVAL


def require_supported(version: ServerVersion, server: str) -> None:
    """Raise unless the server is new enough."""
    if not version.is_supported:
        raise kube_errors.ClusterTooOldError(unsupported(server, version))


def inventory_of(nodes: Iterable[Node]) -> Inventory:
    """Add up what `nodes` say of themselves."""
    known = tuple(nodes)
    return Inventory(
        nodes=len(known),
        ready=sum(map(is_ready, known)),
        gpu_capacity=sum(map(gpu_capacity, known)),
        gpu_allocatable=sum(map(gpu_allocatable, known)),
        products=tuple(sorted(set(map(gpu_product, known)) - {""})),
    )


def is_ready(node: Node) -> bool:
    """Whether the kubelet says that it can run pods."""
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def gpu_capacity(node: Node) -> int:
    """How many GPUs are built in."""
    return _whole(node.status.capacity.get(_GPU, "0"))


def gpu_allocatable(node: Node) -> int:
    """How many GPUs pods can have."""
    return _whole(node.status.allocatable.get(_GPU, "0"))


def gpu_product(node: Node) -> str:
    """Which GPUs they are, where the node says so."""
    return node.metadata.labels.get(_PRODUCT, "")


def _whole(quantity: str) -> int:
    """Read a count; the server rewrites 1000 as 1k, and a device plugin gives no fractions."""
    match = _WHOLE.fullmatch(quantity)
    return int(match[1]) * _SUFFIXES[match[2]] if match else 0
