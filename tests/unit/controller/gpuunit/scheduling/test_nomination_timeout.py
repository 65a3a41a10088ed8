"""A place that is kept for a pod is expected while it may come, and not for ever."""

import pytest

from controller.gpuunit.scheduling.nomination_timeout import (
    NOMINATION_TIMEOUT_SECONDS,
    NominationTimeouts,
)
from controller.runtime.key import ObjectKey
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from tests.support.builders.gpu_units import INSTANCE_NAMESPACE
from tests.support.builders.workloads import READY_NODES, new_node, pending_pod, running_pod
from tests.support.clocks.virtual_clock import VirtualClock

KEY = ObjectKey(INSTANCE_NAMESPACE, "one")
NOMINATED = pending_pod(nominatedNodeName="gpu-0")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def nomination_timeouts(clock: VirtualClock) -> NominationTimeouts:
    return NominationTimeouts(clock)


async def test_a_place_is_expected_for_as_long_as_somebody_ends_in_it(
    clock: VirtualClock, nomination_timeouts: NominationTimeouts
) -> None:
    holder = running_pod("old", "gpu-0", deleted=True)
    assert (
        nomination_timeouts.remaining_seconds(KEY, NOMINATED, [holder], READY_NODES)
        == NOMINATION_TIMEOUT_SECONDS
    )
    await clock.advance(3600)
    assert (
        nomination_timeouts.remaining_seconds(KEY, NOMINATED, [holder], READY_NODES)
        == NOMINATION_TIMEOUT_SECONDS
    )


async def test_a_place_that_is_free_is_expected_for_a_while(
    clock: VirtualClock, nomination_timeouts: NominationTimeouts
) -> None:
    assert (
        nomination_timeouts.remaining_seconds(
            KEY, NOMINATED, [running_pod("old", "gpu-1")], READY_NODES
        )
        == NOMINATION_TIMEOUT_SECONDS
    )
    await clock.advance(NOMINATION_TIMEOUT_SECONDS - 1)
    assert nomination_timeouts.remaining_seconds(KEY, NOMINATED, (), READY_NODES) == 1
    await clock.advance(1)
    assert nomination_timeouts.remaining_seconds(KEY, NOMINATED, (), READY_NODES) == 0
    assert nomination_timeouts.remaining_seconds(KEY, NOMINATED, (), READY_NODES) == 0


async def test_another_place_is_expected_anew(
    clock: VirtualClock, nomination_timeouts: NominationTimeouts
) -> None:
    nomination_timeouts.remaining_seconds(KEY, NOMINATED, (), READY_NODES)
    await clock.advance(NOMINATION_TIMEOUT_SECONDS)
    assert (
        nomination_timeouts.remaining_seconds(
            KEY, pending_pod(nominatedNodeName="gpu-1"), (), READY_NODES
        )
        == NOMINATION_TIMEOUT_SECONDS
    )


async def test_a_unit_that_was_made_again_is_not_told_of_the_one_before(
    clock: VirtualClock, nomination_timeouts: NominationTimeouts
) -> None:
    nomination_timeouts.remaining_seconds(KEY, NOMINATED, (), READY_NODES)
    await clock.advance(NOMINATION_TIMEOUT_SECONDS)
    nomination_timeouts.forget(KEY)
    assert (
        nomination_timeouts.remaining_seconds(KEY, NOMINATED, (), READY_NODES)
        == NOMINATION_TIMEOUT_SECONDS
    )


@pytest.mark.parametrize(
    ("pod", "nodes"),
    [
        pytest.param(pending_pod(), READY_NODES, id="no place is kept"),
        pytest.param(NOMINATED, {}, id="the node is gone"),
        pytest.param(NOMINATED, {"gpu-0": new_node(ready=False)}, id="the node is lost"),
        pytest.param(NOMINATED, {"gpu-0": new_node(unschedulable=True)}, id="the node is cordoned"),
    ],
)
def test_no_place_is_expected(
    nomination_timeouts: NominationTimeouts, pod: Pod, nodes: dict[str, Node]
) -> None:
    assert (
        nomination_timeouts.remaining_seconds(KEY, pod, [running_pod("old", "gpu-0")], nodes) == 0
    )
