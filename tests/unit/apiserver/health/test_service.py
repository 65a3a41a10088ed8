"""Tests of the health service: it reports known values and omits unknown ones."""

from apiserver.health.cluster_state import (
    KUBERNETES_OFF,
    ClusterState,
    count_succeeded,
    inventory_of,
    probe_failed,
    probe_succeeded,
)
from apiserver.health.schemas import HealthSchema
from apiserver.health.service import HealthService
from apiserver.nats.port import ConnectionStatus
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock
from tests.unit.apiserver.scripted_gateway import UNIT_COUNTS, UNREACHABLE, V1_34, new_node

CONNECTED = ConnectionStatus(connected=True)
COUNTED = count_succeeded(
    probe_succeeded(ClusterState(), V1_34, 10.0), inventory_of([new_node()]), UNIT_COUNTS, 9.0
)


def health_of(cluster: ClusterState, queue: ConnectionStatus = CONNECTED) -> object:
    clock = AutoAdvanceClock()
    health = HealthService("0.1.0", clock, lambda: cluster, lambda: queue)
    clock.advance(12.25)
    return HealthSchema().dump(health.report())


async def test_a_connected_cluster_is_described_in_full() -> None:
    assert health_of(COUNTED) == {
        "startedAt": "2026-11-16T00:00:00Z",
        "uptimeSeconds": 12,
        "version": "0.1.0",
        "kubernetesConnected": True,
        "kubernetesVersion": "v1.34.1",
        "nodeCount": 1,
        "readyNodeCount": 1,
        "stockUnitCount": {"Ready": 2},
        "activeUnitCount": {},
        "totalGPUCapacity": 8,
        "totalGPUAllocatable": 8,
        "gpuProducts": ["A100"],
        "queueConnected": True,
        "ageSeconds": 3.2,
    }


async def test_unknown_counts_are_absent_and_not_zero() -> None:
    assert health_of(KUBERNETES_OFF, ConnectionStatus(connected=False, error="no queue")) == {
        "startedAt": "2026-11-16T00:00:00Z",
        "uptimeSeconds": 12,
        "version": "0.1.0",
        "kubernetesConnected": False,
        "kubeError": "Kubernetes is off by configuration (kubeMode: off)",
        "queueConnected": False,
        "queueError": "no queue",
    }


async def test_a_lost_cluster_is_reported_with_its_error_and_the_age_of_the_data() -> None:
    report = health_of(probe_failed(COUNTED, UNREACHABLE, 12.0))
    assert isinstance(report, dict)
    assert (report["kubernetesConnected"], report["kubeError"]) == (False, str(UNREACHABLE))
    assert (report["nodeCount"], report["ageSeconds"]) == (1, 3.2)


async def test_the_counts_of_a_cluster_without_nodes_are_zero() -> None:
    report = health_of(
        count_succeeded(
            probe_succeeded(ClusterState(), V1_34, 10.0), inventory_of([]), UNIT_COUNTS, 10.0
        )
    )
    assert isinstance(report, dict)
    assert (report["nodeCount"], report["totalGPUCapacity"], report["gpuProducts"]) == (0, 0, [])
