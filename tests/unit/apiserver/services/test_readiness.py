"""Readiness says why not."""

from apiserver.services.cluster import OFF, ClusterState, answered, lost
from apiserver.services.readiness import Readiness, reasons
from tests.unit.apiserver.scripted_gateway import DOWN, V1_34

CONNECTED = answered(ClusterState(), V1_34, 1.0)


def test_a_connected_process_is_ready() -> None:
    assert reasons(CONNECTED, draining=False) == ()


def test_a_process_that_wants_no_cluster_is_ready() -> None:
    assert reasons(OFF, draining=False) == ()


def test_a_lost_cluster_is_a_reason() -> None:
    (reason,) = reasons(lost(CONNECTED, DOWN, 2.0), draining=False)
    assert reason == f"Kubernetes is not connected: {DOWN}"


def test_a_cluster_not_asked_yet_is_a_reason() -> None:
    assert len(reasons(ClusterState(), draining=False)) == 1


def test_a_stopping_process_is_not_ready() -> None:
    readiness = Readiness(lambda: CONNECTED)
    readiness.drain()
    assert readiness.reasons() == ("the process is stopping",)
