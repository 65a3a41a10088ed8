"""Kubernetes nodes, limited to the fields that the programs read."""

import msgspec

from shared.k8s.meta import ObjectMeta


class Taint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A mark on a node that repels pods without a matching toleration."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings of a node that decide which pods may run on it."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One observation of the kubelet or the node controller."""

    type: str
    status: str


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a node. Resources are Kubernetes quantities by resource name."""

    conditions: tuple[NodeCondition, ...] = ()
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}


class Node(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A machine that can run pods."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NodeList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The response to a list of nodes."""

    items: tuple[Node, ...] = ()
