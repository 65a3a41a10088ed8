"""The creation of the simulated nodes and the storage classes of a cluster."""

import asyncio
from typing import Any

from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.nodes import NODE_NAME_PREFIX, Fleet, node_manifest, node_names
from hack.cluster.simulation import VOLUME_PROVISIONER

NODES_PATH = "/api/v1/nodes"
STORAGE_CLASSES_PATH = "/apis/storage.k8s.io/v1/storageclasses"


async def apply_nodes_and_classes(admin: AdminClient, fleet: Fleet) -> None:
    """Create, resize and delete nodes to match `fleet`, and apply the storage classes."""
    listed = await admin.get(NODES_PATH)
    existing = {
        item["metadata"]["name"]: item
        for item in listed["items"]
        if item["metadata"]["name"].startswith(NODE_NAME_PREFIX)
    }
    names = node_names(fleet)
    await asyncio.gather(
        *(
            create_or_resize_node(admin, node_manifest(name, fleet), existing.get(name))
            for name in names
        ),
        *(admin.delete(f"{NODES_PATH}/{name}") for name in existing.keys() - set(names)),
        *(
            admin.apply(f"{STORAGE_CLASSES_PATH}/{item['metadata']['name']}", item)
            for item in storage_classes()
        ),
    )


async def create_or_resize_node(
    admin: AdminClient, manifest: dict[str, Any], existing: dict[str, Any] | None
) -> None:
    """Create the node, or change the size of the existing one."""
    name = manifest["metadata"]["name"]
    if existing is None:
        try:
            await admin.create(NODES_PATH, manifest)
        except ApiStatusError as error:
            if error.status != 409:
                raise
        return
    if existing["status"].get("capacity") != manifest["status"]["capacity"]:
        await admin.patch(
            f"{NODES_PATH}/{name}", {"metadata": {"labels": manifest["metadata"]["labels"]}}
        )
        await admin.patch(f"{NODES_PATH}/{name}/status", {"status": manifest["status"]})


def storage_classes() -> list[dict[str, Any]]:
    """Return the default class, one that waits for the first consumer, and one that cannot grow."""
    return [
        storage_class(
            "sim-now", binding_mode="Immediate", allow_expansion=True, is_default_class=True
        ),
        storage_class("sim-wait", binding_mode="WaitForFirstConsumer", allow_expansion=True),
        storage_class("sim-fixed", binding_mode="Immediate", allow_expansion=False),
    ]


def storage_class(
    name: str, *, binding_mode: str, allow_expansion: bool, is_default_class: bool = False
) -> dict[str, Any]:
    is_default = {"storageclass.kubernetes.io/is-default-class": str(is_default_class).lower()}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": is_default},
        "provisioner": VOLUME_PROVISIONER,
        "reclaimPolicy": "Delete",
        "allowVolumeExpansion": allow_expansion,
        "volumeBindingMode": binding_mode,
    }
