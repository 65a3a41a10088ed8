"""Tests of capacity: how many units of a spec fit on the nodes."""

import pytest

from apiserver.specs.capacity import unit_capacity
from shared.k8s.meta import ObjectMeta
from shared.k8s.node import Node, NodeCondition, NodeStatus
from shared.v1alpha1.unit_resources import UnitResources


def a_node(zone: str = "a", *, ready: bool = True, **allocatable: str) -> Node:
    held = {"nvidia.com/gpu": "8", "memory": "64Gi", "cpu": "16", **allocatable}
    condition = NodeCondition(type="Ready", status="True" if ready else "False")
    return Node(
        metadata=ObjectMeta(name="n", labels={"zone": zone}),
        status=NodeStatus(conditions=(condition,), allocatable=held),
    )


@pytest.mark.parametrize(
    ("envelope", "nodes", "expected"),
    [
        (UnitResources(spec_name="s", memory="1Gi", gpu=1), [a_node(), a_node()], 16),
        (UnitResources(spec_name="s", memory="1Gi", gpu=3), [a_node()], 2),
        (UnitResources(spec_name="s", memory="32Gi", gpu=1), [a_node()], 2),
        (UnitResources(spec_name="s", memory="1Gi", cpu="4", gpu=1), [a_node()], 4),
        (UnitResources(spec_name="s", memory="1Gi", gpu=1), [a_node(ready=False)], 0),
        (UnitResources(spec_name="s", memory="1Gi", gpu=1, gpu_resource="x.io/gpu"), [a_node()], 0),
        (
            UnitResources(spec_name="s", memory="1Gi", gpu=1, node_selector={"zone": "b"}),
            [a_node("a"), a_node("b")],
            8,
        ),
        (UnitResources(spec_name="s", memory="1Gi"), [], 0),
    ],
)
def test_the_scarcest_resource_decides(
    envelope: UnitResources, nodes: list[Node], expected: int
) -> None:
    assert unit_capacity(envelope, nodes) == expected
