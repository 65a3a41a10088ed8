"""Tests of the pure functions that update the cluster state."""

import pytest

from apiserver.health.cluster_state import (
    ClusterState,
    NodeInventory,
    count_failed,
    count_succeeded,
    inventory_of,
    is_count_due,
    probe_failed,
    probe_succeeded,
    require_supported_version,
)
from apiserver.kube import errors as kube_errors
from shared.k8s.meta import ObjectMeta
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from tests.unit.apiserver.scripted_gateway import UNIT_COUNTS, UNREACHABLE, V1_34, new_node

EMPTY = NodeInventory(nodes=0, ready_nodes=0, gpu_capacity=0, gpu_allocatable=0, gpu_products=())


def test_the_nodes_of_a_cluster_are_summed() -> None:
    nodes = [new_node("a"), new_node("b", product="H100"), new_node("c", gpus="4", ready="Unknown")]
    assert inventory_of(nodes) == NodeInventory(
        nodes=3, ready_nodes=2, gpu_capacity=20, gpu_allocatable=20, gpu_products=("A100", "H100")
    )


def test_a_node_without_gpus_counts_as_a_node() -> None:
    node = Node(metadata=ObjectMeta(name="n"))
    assert inventory_of([node]) == NodeInventory(
        nodes=1, ready_nodes=0, gpu_capacity=0, gpu_allocatable=0, gpu_products=()
    )


@pytest.mark.parametrize(
    ("quantity", "gpus"), [("0", 0), ("8", 8), ("1k", 1000), ("1Ki", 1024), ("500m", 0), ("", 0)]
)
def test_the_gpu_count_is_parsed_from_a_quantity(quantity: str, gpus: int) -> None:
    assert inventory_of([new_node(gpus=quantity)]).gpu_capacity == gpus


@pytest.mark.parametrize(("major", "minor"), [("1", "33"), ("1", "36+"), ("2", "0")])
def test_kubernetes_1_33_and_newer_is_supported(major: str, minor: str) -> None:
    """Check that no error is raised."""
    require_supported_version(
        ServerVersion(major=major, minor=minor, git_version="v"), "https://k8s"
    )


@pytest.mark.parametrize(("major", "minor"), [("1", "32"), ("0", "99"), ("", "")])
def test_an_older_kubernetes_is_refused_with_the_oldest_version(major: str, minor: str) -> None:
    version = ServerVersion(major=major, minor=minor, git_version="v1.32.9")
    with pytest.raises(
        kube_errors.UnsupportedVersionError,
        match=r"runs Kubernetes v1\.32\.9; the minimum version is 1\.33",
    ):
        require_supported_version(version, "https://k8s")


def test_a_successful_probe_connects_and_clears_the_error() -> None:
    state = probe_succeeded(probe_failed(ClusterState(), UNREACHABLE, 1.0), V1_34, 3.0)
    assert (state.is_connected, state.error, state.version) == (True, None, "v1.34.1")


def test_a_failed_probe_keeps_the_counts() -> None:
    state = count_succeeded(probe_succeeded(ClusterState(), V1_34, 1.0), EMPTY, UNIT_COUNTS, 1.0)
    after = probe_failed(state, UNREACHABLE, 3.0)
    assert (after.is_connected, after.error) == (False, str(UNREACHABLE))
    assert (after.inventory, after.counted_at) == (EMPTY, 1.0)


def test_nodes_are_counted_every_ten_seconds_while_connected() -> None:
    state = count_succeeded(probe_succeeded(ClusterState(), V1_34, 0.0), EMPTY, UNIT_COUNTS, 0.0)
    assert not is_count_due(state, 9.9)
    assert is_count_due(state, 10.0)


def test_nodes_are_counted_at_once_after_a_reconnect() -> None:
    state = count_succeeded(probe_succeeded(ClusterState(), V1_34, 0.0), EMPTY, UNIT_COUNTS, 0.0)
    reconnected = probe_succeeded(probe_failed(state, UNREACHABLE, 2.0), V1_34, 4.0)
    assert is_count_due(reconnected, 4.0)


def test_nodes_are_not_counted_while_the_cluster_is_not_connected() -> None:
    assert not is_count_due(ClusterState(), 100.0)


def test_a_failed_count_is_not_repeated_at_every_probe() -> None:
    state = count_failed(probe_succeeded(ClusterState(), V1_34, 0.0), UNREACHABLE, 0.0)
    assert not is_count_due(state, 2.0)
    assert state.inventory_error == str(UNREACHABLE)
