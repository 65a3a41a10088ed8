"""Storages and what they have, as values."""

from typing import Any

import msgspec

from controller.gpustorage.settings import StorageSettings
from controller.namespaces import Namespaces
from shared.k8s.job import Job
from shared.k8s.pvc import VolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage

NAMESPACE = "runtime-instance"
SETTINGS = StorageSettings(
    namespaces=Namespaces("runtime-stock", NAMESPACE, "runtime-system"),
    default_class="standard",
    prepare_deadline=60,
    copy_image="example/copy:1",
    accessor_image="example/browse:1",
    cluster_domain="cluster.local",
    private_ranges=("10.0.0.0/8", "fc00::/7"),
)
FILL = {"fromImage": "example/fill:1", "command": ["fill"], "args": ["all"]}


def a_storage(
    name: str = "data",
    *,
    status: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> GPUStorage:
    """A storage of 1Gi, as its manifest would have it."""
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-of-{name}", "generation": 1}
    body = {
        "metadata": {**meta, **(metadata or {})},
        "spec": {"size": "1Gi", **spec},
        "status": status or {},
    }
    return msgspec.convert(body, GPUStorage)


def a_claim(
    request: str = "1Gi", capacity: str | None = "1Gi", class_name: str = "fast", **status: Any
) -> VolumeClaim:
    """A bound claim; without a capacity one that waits for its volume."""
    given = {"phase": "Bound", "capacity": {"storage": capacity}} if capacity else {}
    body = {
        "metadata": {"name": "data", "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": request}},
            "storageClassName": class_name,
        },
        "status": {"phase": "Pending", **given, **status},
    }
    return msgspec.convert(body, VolumeClaim)


def a_class(*, waits: bool = False, grows: bool = True) -> StorageClass:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    body = {
        "metadata": {"name": "fast"},
        "volumeBindingMode": mode,
        "allowVolumeExpansion": grows,
    }
    return msgspec.convert(body, StorageClass)


def a_job(
    ended: str = "", *, attempt: str = "", ready: int = 0, is_kept: bool = True, **metadata: Any
) -> Job:
    """The Job of an attempt; `ended` is the condition with which it did."""
    told = {"type": ended, "status": "True", "reason": "Why", "message": "what happened"}
    finalizers = ["runtime.lokiwager.io/outcome"] if is_kept else []
    meta = {
        "name": "prepare-data",
        "annotations": {"runtime.lokiwager.io/recover": attempt},
        "finalizers": finalizers,
    }
    body = {
        "metadata": {**meta, **metadata},
        "status": {"ready": ready, "conditions": [told] if ended else []},
    }
    return msgspec.convert(body, Job)
