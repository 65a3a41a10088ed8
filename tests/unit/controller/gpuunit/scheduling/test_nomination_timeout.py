"""Tests of the nomination timeout: the wait for a possible nomination is limited."""

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


async def test_a_nomination_does_not_time_out_while_a_pod_terminates_on_the_node(
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


async def test_a_nomination_to_a_free_node_times_out(
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


async def test_a_nomination_to_another_node_restarts_the_timeout(
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


async def test_a_recreated_unit_does_not_inherit_a_nomination_timeout(
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
        pytest.param(pending_pod(), READY_NODES, id="not nominated"),
        pytest.param(NOMINATED, {}, id="the node is gone"),
        pytest.param(NOMINATED, {"gpu-0": new_node(ready=False)}, id="the node is lost"),
        pytest.param(NOMINATED, {"gpu-0": new_node(unschedulable=True)}, id="the node is cordoned"),
    ],
)
def test_a_pod_without_a_usable_nomination_has_no_timeout(
    nomination_timeouts: NominationTimeouts, pod: Pod, nodes: dict[str, Node]
) -> None:
    assert (
        nomination_timeouts.remaining_seconds(KEY, pod, [running_pod("old", "gpu-0")], nodes) == 0
    )
