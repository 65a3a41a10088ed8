"""Tests of capacity: how many units of a spec fit on the nodes."""

import pytest

from apiserver.specs.capacity import unit_capacity
from shared.k8s.meta import ObjectMeta
from shared.k8s.node import Node, NodeCondition, NodeStatus
from shared.v1alpha1.unit_resources import UnitResources


def new_node(zone: str = "a", *, ready: bool = True, **allocatable: str) -> Node:
    amounts = {"nvidia.com/gpu": "8", "memory": "64Gi", "cpu": "16", **allocatable}
    condition = NodeCondition(type="Ready", status="True" if ready else "False")
    return Node(
        metadata=ObjectMeta(name="n", labels={"zone": zone}),
        status=NodeStatus(conditions=(condition,), allocatable=amounts),
    )


@pytest.mark.parametrize(
    ("resources", "nodes", "expected"),
    [
        (UnitResources(spec_name="s", memory="1Gi", gpu=1), [new_node(), new_node()], 16),
        (UnitResources(spec_name="s", memory="1Gi", gpu=3), [new_node()], 2),
        (UnitResources(spec_name="s", memory="32Gi", gpu=1), [new_node()], 2),
        (UnitResources(spec_name="s", memory="1Gi", cpu="4", gpu=1), [new_node()], 4),
        (UnitResources(spec_name="s", memory="1Gi", gpu=1), [new_node(ready=False)], 0),
        (
            UnitResources(spec_name="s", memory="1Gi", gpu=1, gpu_resource="x.io/gpu"),
            [new_node()],
            0,
        ),
        (
            UnitResources(spec_name="s", memory="1Gi", gpu=1, node_selector={"zone": "b"}),
            [new_node("a"), new_node("b")],
            8,
        ),
        (UnitResources(spec_name="s", memory="1Gi"), [], 0),
    ],
)
def test_the_scarcest_resource_limits_the_capacity(
    resources: UnitResources, nodes: list[Node], expected: int
) -> None:
    assert unit_capacity(resources, nodes) == expected
