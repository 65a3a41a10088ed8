"""Stock is let go once the unit's pod can lose nothing by that."""

import pytest

from controller.gpuunit.handoff.handoff import is_taken_over
from controller.gpuunit.workload import Workload
from tests.support.builders.workloads import a_pod, a_workload, pending, running

GPU = {"nvidia.com/gpu": "1"}
STOCK = running("stock", "gpu-0", requests=GPU)
LARGER = {**GPU, "memory": "1Gi"}


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(a_workload(a_pod(node="gpu-1", requests=GPU)), id="it has another place"),
        pytest.param(
            a_workload(pending(requests=GPU, nominatedNodeName="gpu-0")), id="its place is kept"
        ),
        pytest.param(
            a_workload(pending(requests=LARGER, nominatedNodeName="gpu-0")), id="its GPU is kept"
        ),
        pytest.param(
            a_workload(pending(requests={"example.com/gpu": "1"})), id="it asks for another kind"
        ),
    ],
)
def test_the_stock_is_let_go(workload: Workload) -> None:
    assert is_taken_over(workload, (STOCK,))


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(a_workload(), id="no pod yet"),
        pytest.param(a_workload(a_pod(requests=GPU)), id="not looked at yet"),
        pytest.param(a_workload(pending(requests=GPU)), id="nothing is kept for it"),
        pytest.param(a_workload(pending(requests=LARGER)), id="it asks for more memory"),
        pytest.param(
            a_workload(pending(requests={"nvidia.com/gpu": "2"})), id="it asks for more GPUs"
        ),
        pytest.param(
            a_workload(pending(requests=GPU, nominatedNodeName="gpu-1")), id="kept elsewhere"
        ),
    ],
)
def test_the_stock_stays(workload: Workload) -> None:
    assert not is_taken_over(workload, (STOCK,))


def test_stock_that_holds_nothing_goes_as_soon_as_there_is_a_pod() -> None:
    assert is_taken_over(a_workload(pending(requests=GPU)), ())
    assert not is_taken_over(a_workload(), ())


def test_stock_holds_its_place_also_while_its_revision_is_not_known() -> None:
    going = running("going", "gpu-1", deleted=True)
    assert a_workload(previous=(STOCK, going)).seated == (STOCK,)
    assert a_workload(STOCK, pending()).seated == (STOCK,)
