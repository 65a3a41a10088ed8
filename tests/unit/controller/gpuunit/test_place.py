"""A pending pod is sent only to a place that its unit holds and that it fits into."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.gpuunit.place import (
    Nomination,
    asks_no_more,
    is_tolerated,
    is_usable,
    nomination,
    requests,
)
from shared.node import Node, Taint
from shared.quantity import Quantity
from shared.v1alpha1.envelope import Toleration
from tests.support.workloads import NODES, a_node, a_pod, pending, running

GPU = "nvidia.com/gpu"
ONE = {GPU: "1", "memory": "16Gi"}
TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}
AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", GPU]), st.integers(0, 9).map(str), max_size=3
)


def test_the_pod_gets_the_place_of_the_first_holder_that_is_large_enough() -> None:
    pod = pending(requests=ONE)
    small, large = running(node="gpu-0", requests={GPU: "1"}), running(node="gpu-1", requests=ONE)
    assert nomination(pod, [small, large], NODES) == Nomination(pod, "gpu-1")


def test_a_pod_that_nobody_looked_at_yet_may_find_a_place_of_its_own() -> None:
    assert nomination(a_pod(requests=ONE), [running(requests=ONE)], NODES) is None


@pytest.mark.parametrize("pod", [None, pending(requests=ONE)])
def test_without_a_pod_or_a_holder_there_is_nothing_to_do(pod: Any) -> None:
    assert nomination(pod, [], NODES) is None


@pytest.mark.parametrize(
    ("node", "spec"),
    [
        pytest.param(a_node(), {}, id="any"),
        pytest.param(a_node(labels={"zone": "a"}), {"nodeSelector": {"zone": "a"}}, id="selected"),
        pytest.param(a_node(taints=[TAINT]), {"tolerations": [TAINT]}, id="tolerated"),
        pytest.param(a_node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), {}, id="a wish"),
    ],
)
def test_a_node_that_lets_the_pod_in(node: Node, spec: dict[str, Any]) -> None:
    pod = pending(requests=ONE, spec=spec)
    assert nomination(pod, [running(requests=ONE)], {"gpu-0": node}) == Nomination(pod, "gpu-0")


@pytest.mark.parametrize(
    ("nodes", "spec"),
    [
        pytest.param({}, {}, id="gone"),
        pytest.param({"gpu-0": a_node(ready=False)}, {}, id="not ready"),
        pytest.param({"gpu-0": a_node(unschedulable=True)}, {}, id="cordoned"),
        pytest.param(NODES, {"nodeSelector": {"zone": "a"}}, id="not selected"),
        pytest.param({"gpu-0": a_node(taints=[TAINT])}, {}, id="tainted"),
    ],
)
def test_a_node_that_does_not(nodes: dict[str, Node], spec: dict[str, Any]) -> None:
    pod = pending(requests=ONE, spec=spec)
    assert nomination(pod, [running(requests=ONE)], nodes) is None


@given(AMOUNTS)
def test_a_pod_fits_into_the_place_of_its_equal(amounts: dict[str, str]) -> None:
    assert asks_no_more(a_pod(requests=amounts), a_pod(requests=amounts))


@given(AMOUNTS, AMOUNTS)
def test_a_pod_fits_where_no_amount_is_larger(mine: dict[str, str], held: dict[str, str]) -> None:
    fits = all(int(amount) <= int(held.get(name, "0")) for name, amount in mine.items())
    assert asks_no_more(a_pod(requests=mine), a_pod(requests=held)) is fits


def test_amounts_are_compared_as_amounts() -> None:
    assert asks_no_more(a_pod(requests={"memory": "1024Mi"}), a_pod(requests={"memory": "1Gi"}))
    assert not asks_no_more(a_pod(requests={"cpu": "1"}), a_pod(requests={"cpu": "999m"}))


def test_the_containers_of_a_pod_ask_together() -> None:
    each = {"name": "a", "resources": {"requests": {"cpu": "500m"}}}
    pod = a_pod(spec={"containers": [each, each]})
    assert requests(pod) == {"cpu": Quantity.parse("1")}


def test_a_node_is_usable_while_it_is_ready_and_open() -> None:
    assert is_usable(a_node())
    assert not is_usable(a_node(ready=False))
    assert not is_usable(a_node(unschedulable=True))


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
