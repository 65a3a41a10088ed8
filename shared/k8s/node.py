"""Kubernetes nodes, as far as we read them."""

import msgspec

from shared.k8s.meta import ObjectMeta


class Taint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What keeps pods away that do not tolerate it."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who may run on a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One observation of the kubelet or the node controller."""

    type: str
    status: str


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Resources are Kubernetes quantities by resource name."""

    conditions: tuple[NodeCondition, ...] = ()
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}


class Node(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A machine that can run pods."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NodeList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a list of nodes."""

    items: tuple[Node, ...] = ()
