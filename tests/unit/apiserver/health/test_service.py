"""Health says what is known, and leaves out what is not."""

from apiserver.health.cluster_state import OFF, ClusterState, answered, counted, inventory_of, lost
from apiserver.health.schemas import HealthSchema
from apiserver.health.service import Health
from apiserver.kube.port import Link
from tests.support.clocks.auto_advance_clock import VirtualClock
from tests.unit.apiserver.scripted_gateway import DOWN, UNITS, V1_34, a_node

CONNECTED = Link(connected=True)
SEEN = counted(answered(ClusterState(), V1_34, 10.0), inventory_of([a_node()]), UNITS, 9.0)


def answer(cluster: ClusterState, queue: Link = CONNECTED) -> object:
    clock = VirtualClock()
    health = Health("0.1.0", clock, lambda: cluster, lambda: queue)
    clock.advance(12.25)
    return HealthSchema().dump(health.report())


async def test_a_connected_cluster_is_described_in_full() -> None:
    assert answer(SEEN) == {
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


async def test_what_was_never_seen_is_absent_and_not_zero() -> None:
    assert answer(OFF, Link(connected=False, error="no queue")) == {
        "startedAt": "2026-11-16T00:00:00Z",
        "uptimeSeconds": 12,
        "version": "0.1.0",
        "kubernetesConnected": False,
        "kubeError": "Kubernetes is off by configuration (kubeMode: off)",
        "queueConnected": False,
        "queueError": "no queue",
    }


async def test_a_lost_cluster_is_said_with_its_reason_and_the_age_of_the_figures() -> None:
    report = answer(lost(SEEN, DOWN, 12.0))
    assert isinstance(report, dict)
    assert (report["kubernetesConnected"], report["kubeError"]) == (False, str(DOWN))
    assert (report["nodeCount"], report["ageSeconds"]) == (1, 3.2)


async def test_a_cluster_without_nodes_has_zero_of_them() -> None:
    report = answer(counted(answered(ClusterState(), V1_34, 10.0), inventory_of([]), UNITS, 10.0))
    assert isinstance(report, dict)
    assert (report["nodeCount"], report["totalGPUCapacity"], report["gpuProducts"]) == (0, 0, [])
