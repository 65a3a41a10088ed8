"""Tests of nomination: only to a node where the unit holds resources that fit the pod."""

from typing import Any

import msgspec
import pytest

from controller.gpuunit.scheduling.nomination import (
    Nomination,
    choose_nomination,
    is_node_schedulable,
    is_tolerated,
)
from shared.k8s.node import Node, Taint
from shared.k8s.pod import Toleration
from tests.support.builders.workloads import (
    READY_NODES,
    new_node,
    new_pod,
    pending_pod,
    running_pod,
)

GPU = "nvidia.com/gpu"
ONE = {GPU: "1", "memory": "16Gi"}
TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


def test_the_pod_is_nominated_to_the_node_of_the_first_large_enough_holder() -> None:
    pod = pending_pod(requests=ONE)
    small, large = (
        running_pod(node="gpu-0", requests={GPU: "1"}),
        running_pod(node="gpu-1", requests=ONE),
    )
    assert choose_nomination(pod, (), [small, large], READY_NODES) == Nomination(pod, "gpu-1")


def test_the_node_of_claimed_stock_is_nominated_for_any_cpu_and_memory_request() -> None:
    pod, stock = (
        pending_pod(requests={**ONE, "cpu": "100m", "memory": "32Gi"}),
        running_pod(requests=ONE),
    )
    assert choose_nomination(pod, [stock], (), READY_NODES) == Nomination(pod, "gpu-0")
    assert choose_nomination(pod, (), [stock], READY_NODES) is None


def test_the_node_of_stock_with_fewer_gpus_is_not_nominated() -> None:
    pod = pending_pod(requests={GPU: "2"})
    assert choose_nomination(pod, [running_pod(requests={GPU: "1"})], (), READY_NODES) is None
    assert (
        choose_nomination(pod, [running_pod(requests={"example.com/gpu": "2"})], (), READY_NODES)
        is None
    )


def test_a_pod_that_the_scheduler_has_not_tried_is_not_nominated() -> None:
    assert (
        choose_nomination(new_pod(requests=ONE), (), [running_pod(requests=ONE)], READY_NODES)
        is None
    )


@pytest.mark.parametrize("pod", [None, pending_pod(requests=ONE)])
def test_without_a_pending_pod_or_a_holder_no_node_is_nominated(pod: Any) -> None:
    assert choose_nomination(pod, (), [], READY_NODES) is None


@pytest.mark.parametrize(
    ("node", "spec"),
    [
        pytest.param(new_node(), {}, id="any"),
        pytest.param(
            new_node(labels={"zone": "a"}), {"nodeSelector": {"zone": "a"}}, id="selected"
        ),
        pytest.param(new_node(taints=[TAINT]), {"tolerations": [TAINT]}, id="tolerated"),
        pytest.param(
            new_node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), {}, id="preferred"
        ),
    ],
)
def test_a_node_that_matches_the_pod_admits_it(node: Node, spec: dict[str, Any]) -> None:
    pod = pending_pod(requests=ONE, spec=spec)
    assert choose_nomination(pod, (), [running_pod(requests=ONE)], {"gpu-0": node}) == Nomination(
        pod, "gpu-0"
    )


@pytest.mark.parametrize(
    ("nodes", "spec"),
    [
        pytest.param({}, {}, id="gone"),
        pytest.param({"gpu-0": new_node(ready=False)}, {}, id="not ready"),
        pytest.param({"gpu-0": new_node(unschedulable=True)}, {}, id="cordoned"),
        pytest.param(READY_NODES, {"nodeSelector": {"zone": "a"}}, id="not selected"),
        pytest.param({"gpu-0": new_node(taints=[TAINT])}, {}, id="tainted"),
    ],
)
def test_a_node_that_does_not_match_the_pod_rejects_it(
    nodes: dict[str, Node], spec: dict[str, Any]
) -> None:
    pod = pending_pod(requests=ONE, spec=spec)
    assert choose_nomination(pod, (), [running_pod(requests=ONE)], nodes) is None


def test_a_node_is_schedulable_while_it_is_ready_and_not_cordoned() -> None:
    assert is_node_schedulable(new_node())
    assert not is_node_schedulable(new_node(ready=False))
    assert not is_node_schedulable(new_node(unschedulable=True))


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu"}, False),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_taint_is_tolerated_as_kubernetes_does(
    toleration: dict[str, str], tolerated: bool
) -> None:
    assert is_tolerated(Taint(**TAINT), [msgspec.convert(toleration, Toleration)]) is tolerated


def test_the_nomination_of_a_superseded_pod_goes_to_the_current_pod() -> None:
    pod = pending_pod(requests=ONE)
    superseded = pending_pod(requests=ONE, nominatedNodeName="gpu-1")
    assert choose_nomination(pod, (), [superseded], READY_NODES) == Nomination(pod, "gpu-1")


def test_a_nominated_pod_is_not_nominated_again() -> None:
    pod = pending_pod(requests=ONE, nominatedNodeName="gpu-1")
    holders = [running_pod(node="gpu-0", requests=ONE), running_pod(node="gpu-1", requests=ONE)]
    assert choose_nomination(pod, (), holders, READY_NODES) is None
