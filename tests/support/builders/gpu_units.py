"""Units as values, and the settings that a controller renders them with."""

from typing import Any

import msgspec

from controller.gpuunit.settings import QueuePeer, SidecarSettings, UnitSettings
from controller.namespaces import Namespaces
from shared.invocation.queue_names import QueueNames
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.gpuunit import GPUUnit

STOCK_NAMESPACE = "runtime-stock"
INSTANCE_NAMESPACE = "runtime-instance"

# Every optional field of a workload once.
FULL_SPEC: dict[str, Any] = {
    "cpu": "4",
    "gpu": 2,
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "shmSize": "8Gi",
    "imagePullSecrets": ["registry"],
    "template": {
        "command": ["serve"],
        "args": ["--port", "8000"],
        "envs": [
            {"name": "MODE", "value": "fast"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
        ],
        "ports": [
            {"name": "http", "port": 8000},
            {"name": "stats", "port": 9000, "protocol": "UDP"},
        ],
    },
    "access": {"primaryPort": "http", "scheme": "https"},
    "storageMounts": [
        {"name": "models", "mountPath": "/models", "readOnly": True},
        {"name": "work", "mountPath": "/work"},
    ],
}


def unit_settings(stock: str = STOCK_NAMESPACE, instance: str = INSTANCE_NAMESPACE) -> UnitSettings:
    """Return the settings of a controller whose units are in those namespaces."""
    return UnitSettings(
        namespaces=Namespaces(stock, instance, "runtime-system"),
        pause_image="example/pause:1",
        cluster_domain="cluster.local",
        private_ranges=("10.0.0.0/8", "169.254.0.0/16", "fc00::/7"),
        sidecar=SidecarSettings("example/worker:1", "100m", "256Mi", QueueNames()),
        queue_peer=QueuePeer("runtime-system", "nats", 4222),
    )


def new_unit(
    name: str = "one",
    *,
    namespace: str = INSTANCE_NAMESPACE,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> GPUUnit:
    """Return a unit whose spec is written as in its manifest, with 16Gi of memory by default."""
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"uid-of-{name}",
        labels=labels or {},
        annotations=annotations or {},
    )
    unit_spec = {"specName": "g1.1", "memory": "16Gi", "image": "example/user:1", **spec}
    return msgspec.convert({"metadata": msgspec.to_builtins(metadata), "spec": unit_spec}, GPUUnit)
