"""A place that is kept for a pod is expected while it may come, and not for ever."""

import pytest

from controller.gpuunit.scheduling.nomination_timeout import PATIENCE, Vacancies
from controller.runtime.key import ObjectKey
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from tests.support.builders.gpu_units import INSTANCE
from tests.support.builders.workloads import NODES, a_node, pending, running
from tests.support.clocks.virtual_clock import VirtualClock

KEY = ObjectKey(INSTANCE, "one")
NOMINATED = pending(nominatedNodeName="gpu-0")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def vacancies(clock: VirtualClock) -> Vacancies:
    return Vacancies(clock)


async def test_a_place_is_expected_for_as_long_as_somebody_ends_in_it(
    clock: VirtualClock, vacancies: Vacancies
) -> None:
    holder = running("old", "gpu-0", deleted=True)
    assert vacancies.wait(KEY, NOMINATED, [holder], NODES) == PATIENCE
    await clock.advance(3600)
    assert vacancies.wait(KEY, NOMINATED, [holder], NODES) == PATIENCE


async def test_a_place_that_is_free_is_expected_for_a_while(
    clock: VirtualClock, vacancies: Vacancies
) -> None:
    assert vacancies.wait(KEY, NOMINATED, [running("old", "gpu-1")], NODES) == PATIENCE
    await clock.advance(PATIENCE - 1)
    assert vacancies.wait(KEY, NOMINATED, (), NODES) == 1
    await clock.advance(1)
    assert vacancies.wait(KEY, NOMINATED, (), NODES) == 0
    assert vacancies.wait(KEY, NOMINATED, (), NODES) == 0


async def test_another_place_is_expected_anew(clock: VirtualClock, vacancies: Vacancies) -> None:
    vacancies.wait(KEY, NOMINATED, (), NODES)
    await clock.advance(PATIENCE)
    assert vacancies.wait(KEY, pending(nominatedNodeName="gpu-1"), (), NODES) == PATIENCE


async def test_a_unit_that_was_made_again_is_not_told_of_the_one_before(
    clock: VirtualClock, vacancies: Vacancies
) -> None:
    vacancies.wait(KEY, NOMINATED, (), NODES)
    await clock.advance(PATIENCE)
    vacancies.forget(KEY)
    assert vacancies.wait(KEY, NOMINATED, (), NODES) == PATIENCE


@pytest.mark.parametrize(
    ("pod", "nodes"),
    [
        pytest.param(pending(), NODES, id="no place is kept"),
        pytest.param(NOMINATED, {}, id="the node is gone"),
        pytest.param(NOMINATED, {"gpu-0": a_node(ready=False)}, id="the node is lost"),
        pytest.param(NOMINATED, {"gpu-0": a_node(unschedulable=True)}, id="the node is cordoned"),
    ],
)
def test_no_place_is_expected(vacancies: Vacancies, pod: Pod, nodes: dict[str, Node]) -> None:
    assert vacancies.wait(KEY, pod, [running("old", "gpu-0")], nodes) == 0
