"""Manifests of the Deployment and the Service through which users browse a storage.

Python's own file server lists folders, accepts only GET and HEAD, and writes nothing. It needs no
configuration and no capability. (The server of busybox lists no folders, and the program of the
caddy image does not start without capabilities.)
"""

from typing import Any, Final

from controller.apply.drop_empty import drop_empty
from controller.apply.pod_security import container_security_context, pod_security_fields
from controller.gpustorage.labels import StorageComponent, child_metadata, pod_labels, pod_selector
from controller.gpustorage.settings import StorageSettings
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage

ACCESSOR_PORT: Final = 8080
DATA_DIR: Final = "/data"
SERVER_COMMAND: Final = ("python", "-m", "http.server", str(ACCESSOR_PORT), "--directory", DATA_DIR)


def accessor_service_manifest(storage: GPUStorage) -> dict[str, Any]:
    """Build the Service, which is the accessor's address in the cluster."""
    port = {"name": "http", "port": ACCESSOR_PORT, "targetPort": ACCESSOR_PORT, "protocol": "TCP"}
    return {
        "metadata": _metadata(storage),
        "spec": {
            "type": "ClusterIP",
            "selector": pod_selector(storage, StorageComponent.ACCESSOR),
            "ports": [port],
        },
    }


def accessor_deployment_manifest(
    storage: GPUStorage, settings: StorageSettings, node_name: str
) -> dict[str, Any]:
    """Build the Deployment of one pod, on the node where the volume is in use, if any.

    The old pod stops before the new one starts.
    """
    return {
        "metadata": _metadata(storage),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": pod_selector(storage, StorageComponent.ACCESSOR)},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": pod_labels(storage, StorageComponent.ACCESSOR)},
                "spec": _pod_spec(storage, settings.accessor_image, node_name),
            },
        },
    }


def accessor_url(storage: GPUStorage, settings: StorageSettings) -> str:
    """Return the URL of the accessor."""
    name, namespace = names.accessor_name(storage.metadata.name), storage.metadata.namespace
    return f"http://{name}.{namespace}.svc.{settings.cluster_domain}:{ACCESSOR_PORT}"


def _metadata(storage: GPUStorage) -> dict[str, Any]:
    return child_metadata(
        storage, names.accessor_name(storage.metadata.name), StorageComponent.ACCESSOR
    )


def _pod_spec(storage: GPUStorage, image: str, node_name: str) -> dict[str, Any]:
    pvc = {"claimName": storage.metadata.name, "readOnly": True}
    return {
        **pod_security_fields(),
        "terminationGracePeriodSeconds": 1,  # a unit may wait for the volume
        **drop_empty({"affinity": _required_node_affinity(node_name)}),
        "containers": [_container(image)],
        "volumes": [{"name": "data", "persistentVolumeClaim": pvc}],
    }


def _container(image: str) -> dict[str, Any]:
    return {
        "name": "accessor",
        "image": image,
        "command": list(SERVER_COMMAND),
        "ports": [{"name": "http", "containerPort": ACCESSOR_PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": ACCESSOR_PORT}},
        "securityContext": {**container_security_context(), "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "data", "mountPath": DATA_DIR, "readOnly": True}],
    }


def _required_node_affinity(node_name: str) -> dict[str, Any]:
    if not node_name:
        return {}
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
