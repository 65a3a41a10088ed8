"""Gateway to a cluster that follows the test's script."""

from apiserver.health.unit_counts import UnitCounts
from apiserver.kube import errors as kube_errors
from shared.k8s.meta import ObjectMeta
from shared.k8s.node import Node, NodeCondition, NodeStatus
from shared.k8s.server_version import ServerVersion

V1_34 = ServerVersion(major="1", minor="34", git_version="v1.34.1")
UNIT_COUNTS = UnitCounts({"Ready": 2}, {})
UNREACHABLE = kube_errors.UnreachableError("https://k8s cannot be reached")


def new_node(
    name: str = "n1", *, gpus: str = "8", product: str = "A100", ready: str = "True"
) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, labels={"nvidia.com/gpu.product": product}),
        status=NodeStatus(
            conditions=(NodeCondition(type="Ready", status=ready),),
            capacity={"nvidia.com/gpu": gpus, "cpu": "64"},
            allocatable={"nvidia.com/gpu": gpus},
        ),
    )


class ScriptedGateway:
    """Gateway with scripted results; each probe uses the next item of `script`, if there is one."""

    server = "https://k8s"

    def __init__(self, *script: kube_errors.KubeError | ServerVersion) -> None:
        self.script = list(script)
        self.version_result: kube_errors.KubeError | ServerVersion = V1_34
        self.nodes_result: kube_errors.KubeError | tuple[Node, ...] = (new_node(),)
        self.probe_count = 0
        self.list_count = 0

    async def server_version(self, *, timeout_seconds: float = 5.0) -> ServerVersion:
        self.probe_count += 1
        if self.script:
            self.version_result = self.script.pop(0)
        if isinstance(self.version_result, kube_errors.KubeError):
            raise self.version_result
        return self.version_result

    async def list_nodes(self, *, timeout_seconds: float = 5.0) -> tuple[Node, ...]:
        self.list_count += 1
        if isinstance(self.nodes_result, kube_errors.KubeError):
            raise self.nodes_result
        return self.nodes_result

    async def count(self) -> UnitCounts:
        return UNIT_COUNTS
