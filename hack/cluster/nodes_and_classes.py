"""What the simulated world contains: nodes and storage classes."""

import asyncio
from typing import Any

from hack.cluster.admin_client import Admin, RefusedError
from hack.cluster.nodes import NAME_PREFIX, Fleet, node, node_names
from hack.cluster.simulation import VOLUME_PROVISIONER

NODES = "/api/v1/nodes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


async def furnish(admin: Admin, fleet: Fleet) -> None:
    """Make the cluster hold exactly the nodes of `fleet`, and the storage classes."""
    listed = await admin.get(NODES)
    existing = {
        item["metadata"]["name"]: item
        for item in listed["items"]
        if item["metadata"]["name"].startswith(NAME_PREFIX)
    }
    wanted = node_names(fleet)
    await asyncio.gather(
        *(settle_node(admin, node(name, fleet), existing.get(name)) for name in wanted),
        *(admin.delete(f"{NODES}/{name}") for name in existing.keys() - set(wanted)),
        *(admin.apply(f"{CLASSES}/{item['metadata']['name']}", item) for item in storage_classes()),
    )


async def settle_node(admin: Admin, wanted: dict[str, Any], found: dict[str, Any] | None) -> None:
    """Create the node, or give the existing one the wanted size."""
    name = wanted["metadata"]["name"]
    if found is None:
        try:
            await admin.create(NODES, wanted)
        except RefusedError as error:
            if error.status != 409:
                raise
        return
    if found["status"].get("capacity") != wanted["status"]["capacity"]:
        await admin.patch(f"{NODES}/{name}", {"metadata": {"labels": wanted["metadata"]["labels"]}})
        await admin.patch(f"{NODES}/{name}/status", {"status": wanted["status"]})


def storage_classes() -> list[dict[str, Any]]:
    """A class that binds at once (the default), one that waits for a pod, one that cannot grow."""
    return [
        storage_class("sim-now", mode="Immediate", grows=True, default=True),
        storage_class("sim-wait", mode="WaitForFirstConsumer", grows=True),
        storage_class("sim-fixed", mode="Immediate", grows=False),
    ]


def storage_class(name: str, *, mode: str, grows: bool, default: bool = False) -> dict[str, Any]:
    is_default = {"storageclass.kubernetes.io/is-default-class": str(default).lower()}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": is_default},
        "provisioner": VOLUME_PROVISIONER,
        "reclaimPolicy": "Delete",
        "allowVolumeExpansion": grows,
        "volumeBindingMode": mode,
    }
