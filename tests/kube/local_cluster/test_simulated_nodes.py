"""The simulated nodes: allocatable GPUs, and a label that makes a node fail."""

from typing import Any

from hack.cluster.admin_client import AdminClient
from tests.support.builders.pods import is_ready
from tests.support.wait.eventually import eventually

NODES = "/api/v1/nodes"


async def test_four_nodes_offer_eight_gpus_each(admin: AdminClient) -> None:
    nodes = (await admin.get(NODES))["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"8"}
    assert all(node["metadata"]["labels"]["nvidia.com/gpu.product"] for node in nodes)


async def test_a_node_with_the_label_is_not_ready_until_the_label_is_removed(
    admin: AdminClient,
) -> None:
    async def node() -> dict[str, Any]:
        body: dict[str, Any] = await admin.get(f"{NODES}/gpu-3")
        return body

    async def label(value: str | None) -> None:
        await admin.patch(f"{NODES}/gpu-3", {"metadata": {"labels": {"sim.local/node": value}}})

    await label("not-ready")
    lost = await eventually(node, lambda n: not is_ready(n) and n["spec"].get("taints"))
    assert "node.kubernetes.io/not-ready" in {taint["key"] for taint in lost["spec"]["taints"]}
    await label(None)
    await eventually(node, lambda n: is_ready(n) and not n["spec"].get("taints"))
