"""Tests of the hand-off: stock is consumed once the unit's pod cannot lose its node by that."""

import pytest

from controller.gpuunit.handoff.handoff import is_stock_releasable
from controller.gpuunit.workload import Workload
from tests.support.builders.workloads import new_pod, new_workload, pending_pod, running_pod

GPU = {"nvidia.com/gpu": "1"}
STOCK = running_pod("stock", "gpu-0", requests=GPU)
LARGER = {**GPU, "memory": "1Gi"}


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(
            new_workload(new_pod(node="gpu-1", requests=GPU)), id="scheduled on another node"
        ),
        pytest.param(
            new_workload(pending_pod(requests=GPU, nominatedNodeName="gpu-0")),
            id="nominated",
        ),
        pytest.param(
            new_workload(pending_pod(requests=LARGER, nominatedNodeName="gpu-0")),
            id="nominated with larger requests",
        ),
        pytest.param(
            new_workload(pending_pod(requests={"example.com/gpu": "1"})),
            id="requests other GPUs",
        ),
    ],
)
def test_the_stock_is_consumed_after_the_hand_off(workload: Workload) -> None:
    assert is_stock_releasable(workload, (STOCK,))


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(new_workload(), id="no pod yet"),
        pytest.param(new_workload(new_pod(requests=GPU)), id="not scheduled yet"),
        pytest.param(new_workload(pending_pod(requests=GPU)), id="not nominated"),
        pytest.param(new_workload(pending_pod(requests=LARGER)), id="requests more memory"),
        pytest.param(
            new_workload(pending_pod(requests={"nvidia.com/gpu": "2"})), id="requests more GPUs"
        ),
        pytest.param(
            new_workload(pending_pod(requests=GPU, nominatedNodeName="gpu-1")),
            id="nominated to another node",
        ),
    ],
)
def test_the_stock_is_kept_before_the_hand_off(workload: Workload) -> None:
    assert not is_stock_releasable(workload, (STOCK,))


def test_stock_without_pods_is_consumed_once_the_unit_has_a_pod() -> None:
    assert is_stock_releasable(new_workload(pending_pod(requests=GPU)), ())
    assert not is_stock_releasable(new_workload(), ())


def test_a_stock_pod_keeps_its_reservation_while_its_replicaset_is_unknown() -> None:
    terminating = running_pod("going", "gpu-1", deleted=True)
    assert new_workload(previous=(STOCK, terminating)).scheduled_pods == (STOCK,)
    assert new_workload(STOCK, pending_pod()).scheduled_pods == (STOCK,)
