"""A cluster that does what the test says."""

from apiserver.health.unit_counts import UnitCounts
from apiserver.kube import errors as kube_errors
from shared.k8s.meta import ObjectMeta
from shared.k8s.node import Node, NodeCondition, NodeStatus
from shared.k8s.server_version import ServerVersion

V1_34 = ServerVersion(major="1", minor="34", git_version="v1.34.1")
UNITS = UnitCounts({"Ready": 2}, {})
DOWN = kube_errors.ClusterUnreachableError("https://k8s cannot be reached")


def a_node(
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
    """Answers with `failure` while there is one; each probe takes the next of `script` first."""

    server = "https://k8s"

    def __init__(self, *script: kube_errors.ClusterError | ServerVersion) -> None:
        self.script = list(script)
        self.answer: kube_errors.ClusterError | ServerVersion = V1_34
        self.listing: kube_errors.ClusterError | tuple[Node, ...] = (a_node(),)
        self.probes = 0
        self.lists = 0

    async def version(self, *, within: float = 5.0) -> ServerVersion:
        self.probes += 1
        if self.script:
            self.answer = self.script.pop(0)
        if isinstance(self.answer, kube_errors.ClusterError):
            raise self.answer
        return self.answer

    async def nodes(self, *, within: float = 5.0) -> tuple[Node, ...]:
        self.lists += 1
        if isinstance(self.listing, kube_errors.ClusterError):
            raise self.listing
        return self.listing

    async def count(self) -> UnitCounts:
        return UNITS
