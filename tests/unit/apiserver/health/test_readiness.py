"""Readiness says why not."""

from apiserver.health.cluster_state import (
    OFF,
    ClusterState,
    answered,
    counted,
    inventory_of,
    lost,
    not_counted,
)
from apiserver.health.readiness import Readiness, reasons
from tests.unit.apiserver.scripted_gateway import DOWN, UNITS, V1_34

CONNECTED = answered(ClusterState(), V1_34, 1.0)
COUNTED = counted(CONNECTED, inventory_of([]), UNITS, 1.5)


def test_a_process_that_has_counted_is_ready() -> None:
    assert reasons(COUNTED, draining=False) == ()


def test_a_connected_process_waits_for_its_first_count() -> None:
    (reason,) = reasons(CONNECTED, draining=False)
    assert "not been counted yet" in reason


def test_a_refused_count_does_not_keep_a_process_from_being_ready() -> None:
    assert reasons(not_counted(CONNECTED, DOWN, 1.5), draining=False) == ()


def test_a_process_is_ready_again_as_soon_as_the_cluster_is_back() -> None:
    back = answered(lost(COUNTED, DOWN, 2.0), V1_34, 3.0)
    assert reasons(back, draining=False) == ()


def test_a_process_that_wants_no_cluster_is_ready() -> None:
    assert reasons(OFF, draining=False) == ()


def test_a_lost_cluster_is_a_reason() -> None:
    (reason,) = reasons(lost(COUNTED, DOWN, 2.0), draining=False)
    assert reason == f"Kubernetes is not connected: {DOWN}"


def test_a_cluster_not_asked_yet_is_a_reason() -> None:
    assert len(reasons(ClusterState(), draining=False)) == 1


def test_a_stopping_process_is_not_ready() -> None:
    readiness = Readiness(lambda: COUNTED)
    readiness.drain()
    assert readiness.reasons() == ("the process is stopping",)
