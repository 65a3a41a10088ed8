"""Storages and their children as values."""

from typing import Any

import msgspec

from controller.gpustorage.settings import StorageSettings
from controller.namespaces import Namespaces
from shared.k8s.job import Job
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage

NAMESPACE = "runtime-instance"
SETTINGS = StorageSettings(
    namespaces=Namespaces("runtime-stock", NAMESPACE, "runtime-system"),
    default_storage_class_name="standard",
    prepare_deadline_seconds=60,
    copy_image="example/copy:1",
    accessor_image="example/browse:1",
    cluster_domain="cluster.local",
    private_ranges=("10.0.0.0/8", "fc00::/7"),
)
PREPARE_FROM_IMAGE = {"fromImage": "example/fill:1", "command": ["fill"], "args": ["all"]}


def new_storage(
    name: str = "data",
    *,
    status: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> GPUStorage:
    """Return a storage of 1Gi with the default values of its manifest."""
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-of-{name}", "generation": 1}
    body = {
        "metadata": {**meta, **(metadata or {})},
        "spec": {"size": "1Gi", **spec},
        "status": status or {},
    }
    return msgspec.convert(body, GPUStorage)


def new_pvc(
    request: str = "1Gi", capacity: str | None = "1Gi", class_name: str = "fast", **status: Any
) -> PersistentVolumeClaim:
    """Return a bound PVC; without a capacity it waits for its volume."""
    bound = {"phase": "Bound", "capacity": {"storage": capacity}} if capacity else {}
    body = {
        "metadata": {"name": "data", "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": request}},
            "storageClassName": class_name,
        },
        "status": {"phase": "Pending", **bound, **status},
    }
    return msgspec.convert(body, PersistentVolumeClaim)


def new_storage_class(
    *, waits_for_consumer: bool = False, allow_expansion: bool = True
) -> StorageClass:
    mode = "WaitForFirstConsumer" if waits_for_consumer else "Immediate"
    body = {
        "metadata": {"name": "fast"},
        "volumeBindingMode": mode,
        "allowVolumeExpansion": allow_expansion,
    }
    return msgspec.convert(body, StorageClass)


def new_job(
    condition_type: str = "",
    *,
    recover_request: str = "",
    ready: int = 0,
    has_finalizer: bool = True,
    **metadata: Any,
) -> Job:
    """Return the Job of an attempt; `condition_type` is the condition with which the Job ended."""
    end = {"type": condition_type, "status": "True", "reason": "Why", "message": "what happened"}
    finalizers = ["runtime.lokiwager.io/outcome"] if has_finalizer else []
    meta = {
        "name": "prepare-data",
        "annotations": {"runtime.lokiwager.io/recover": recover_request},
        "finalizers": finalizers,
    }
    body = {
        "metadata": {**meta, **metadata},
        "status": {"ready": ready, "conditions": [end] if condition_type else []},
    }
    return msgspec.convert(body, Job)
