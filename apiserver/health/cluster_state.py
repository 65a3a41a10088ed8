"""The known state of the cluster and its changes, as pure functions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from apiserver.health.unit_counts import UnitCounts
from apiserver.kube import errors as kube_errors
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion, unsupported_message

COUNT_INTERVAL_SECONDS: Final = 10.0

_GPU_RESOURCE: Final = "nvidia.com/gpu"
_GPU_PRODUCT_LABEL: Final = "nvidia.com/gpu.product"
_COUNT_PATTERN: Final = re.compile(r"(\d+)(k|M|Ki|Mi|)", re.ASCII)
_SUFFIXES: Final = {"": 1, "k": 10**3, "M": 10**6, "Ki": 2**10, "Mi": 2**20}


@dataclass(frozen=True, slots=True)
class NodeInventory:
    """The nodes of a cluster and their GPUs."""

    nodes: int
    ready_nodes: int
    gpu_capacity: int
    gpu_allocatable: int
    gpu_products: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The last known state of the cluster; times are monotonic seconds."""

    is_connected: bool = False
    error: str | None = "the cluster has not been probed yet"
    is_too_old: bool = False
    version: str | None = None
    checked_at: float | None = None
    inventory: NodeInventory | None = None
    units: UnitCounts | None = None
    inventory_error: str | None = None
    counted_at: float | None = None
    count_attempted_at: float | None = None


KUBERNETES_OFF: Final = ClusterState(error="Kubernetes is off by configuration (kubeMode: off)")


def probe_succeeded(state: ClusterState, version: ServerVersion, now: float) -> ClusterState:
    """Return the state after a successful probe; after an outage a count is due at once."""
    attempted_at = state.count_attempted_at if state.is_connected else None
    return replace(
        state,
        is_connected=True,
        error=None,
        is_too_old=False,
        version=version.git_version,
        checked_at=now,
        count_attempted_at=attempted_at,
    )


def probe_failed(state: ClusterState, error: kube_errors.KubeError, now: float) -> ClusterState:
    """Return the state after a failed probe; the counts stay, and become older."""
    too_old = isinstance(error, kube_errors.UnsupportedVersionError)
    return replace(state, is_connected=False, error=str(error), is_too_old=too_old, checked_at=now)


def count_succeeded(
    state: ClusterState, inventory: NodeInventory, units: UnitCounts, now: float
) -> ClusterState:
    """Return the state after a count."""
    return replace(
        state,
        inventory=inventory,
        units=units,
        inventory_error=None,
        counted_at=now,
        count_attempted_at=now,
    )


def count_failed(state: ClusterState, error: kube_errors.KubeError, now: float) -> ClusterState:
    """Return the state after a failed count."""
    return replace(state, inventory_error=str(error), count_attempted_at=now)


def is_first_count_pending(state: ClusterState) -> bool:
    """Return whether no count has succeeded or failed yet."""
    return state.counted_at is None and state.inventory_error is None


def is_count_due(state: ClusterState, now: float) -> bool:
    """Return whether the nodes should be counted again."""
    if not state.is_connected:
        return False
    return (
        state.count_attempted_at is None or now - state.count_attempted_at >= COUNT_INTERVAL_SECONDS
    )


def require_supported_version(version: ServerVersion, server: str) -> None:
    """Raise UnsupportedVersionError unless the server is new enough."""
    if not version.is_supported:
        raise kube_errors.UnsupportedVersionError(unsupported_message(server, version))


def inventory_of(nodes: Iterable[Node]) -> NodeInventory:
    """Return the sums over the nodes."""
    nodes = tuple(nodes)
    return NodeInventory(
        nodes=len(nodes),
        ready_nodes=sum(map(is_node_ready, nodes)),
        gpu_capacity=sum(map(gpu_capacity, nodes)),
        gpu_allocatable=sum(map(gpu_allocatable, nodes)),
        gpu_products=tuple(sorted(set(map(gpu_product, nodes)) - {""})),
    )


def is_node_ready(node: Node) -> bool:
    """Return whether the node is Ready."""
    conditions = node.status.conditions
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


def gpu_capacity(node: Node) -> int:
    """Return the number of GPUs of a node."""
    return _parse_count(node.status.capacity.get(_GPU_RESOURCE, "0"))


def gpu_allocatable(node: Node) -> int:
    """Return the number of GPUs that pods can use."""
    return _parse_count(node.status.allocatable.get(_GPU_RESOURCE, "0"))


def gpu_product(node: Node) -> str:
    """Return the product name of the GPUs; empty if the node has no label for it."""
    return node.metadata.labels.get(_GPU_PRODUCT_LABEL, "")


def _parse_count(quantity: str) -> int:
    """Parse a count; the API server writes 1000 as 1k, and there are no fractions of GPUs."""
    match = _COUNT_PATTERN.fullmatch(quantity)
    return int(match[1]) * _SUFFIXES[match[2]] if match else 0
