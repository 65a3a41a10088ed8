"""Tests of readiness: a process that is not ready reports the reason."""

from apiserver.health.cluster_state import (
    KUBERNETES_OFF,
    ClusterState,
    count_failed,
    count_succeeded,
    inventory_of,
    probe_failed,
    probe_succeeded,
)
from apiserver.health.readiness import Readiness, not_ready_reasons
from tests.unit.apiserver.scripted_gateway import UNIT_COUNTS, UNREACHABLE, V1_34

CONNECTED = probe_succeeded(ClusterState(), V1_34, 1.0)
COUNTED = count_succeeded(CONNECTED, inventory_of([]), UNIT_COUNTS, 1.5)


def test_a_process_with_a_first_count_is_ready() -> None:
    assert not_ready_reasons(COUNTED, is_draining=False) == ()


def test_a_process_without_a_first_count_is_not_ready() -> None:
    (reason,) = not_ready_reasons(CONNECTED, is_draining=False)
    assert "not been counted yet" in reason


def test_a_process_with_a_failed_first_count_is_ready() -> None:
    assert not_ready_reasons(count_failed(CONNECTED, UNREACHABLE, 1.5), is_draining=False) == ()


def test_a_process_is_ready_again_when_the_cluster_is_reconnected() -> None:
    reconnected = probe_succeeded(probe_failed(COUNTED, UNREACHABLE, 2.0), V1_34, 3.0)
    assert not_ready_reasons(reconnected, is_draining=False) == ()


def test_a_process_with_kube_mode_off_is_ready() -> None:
    assert not_ready_reasons(KUBERNETES_OFF, is_draining=False) == ()


def test_a_process_whose_cluster_is_lost_is_not_ready() -> None:
    (reason,) = not_ready_reasons(probe_failed(COUNTED, UNREACHABLE, 2.0), is_draining=False)
    assert reason == f"Kubernetes is not connected: {UNREACHABLE}"


def test_a_process_before_its_first_probe_is_not_ready() -> None:
    assert len(not_ready_reasons(ClusterState(), is_draining=False)) == 1


def test_a_stopping_process_is_not_ready() -> None:
    readiness = Readiness(lambda: COUNTED)
    readiness.drain()
    assert readiness.not_ready_reasons() == ("the process is stopping",)
