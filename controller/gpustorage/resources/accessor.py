"""The Deployment and the Service with which the files of a storage are browsed.

Python's own file server lists folders, knows only GET and HEAD and writes nothing; it needs no
configuration and no capability. (The server of busybox lists no folders, and the program of the
caddy image does not start without capabilities.)
"""

from typing import Any, Final

from controller.apply.drop_empty import non_empty
from controller.apply.pod_security import locked_down_container, locked_down_pod
from controller.gpustorage.labels import Part, child_metadata, pod_labels, selector
from controller.gpustorage.settings import StorageSettings
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage

PORT: Final = 8080
DATA: Final = "/data"
SERVER: Final = ("python", "-m", "http.server", str(PORT), "--directory", DATA)


def accessor_service(storage: GPUStorage) -> dict[str, Any]:
    """An address in the cluster."""
    port = {"name": "http", "port": PORT, "targetPort": PORT, "protocol": "TCP"}
    return {
        "metadata": _metadata(storage),
        "spec": {
            "type": "ClusterIP",
            "selector": selector(storage, Part.ACCESSOR),
            "ports": [port],
        },
    }


def accessor_deployment(
    storage: GPUStorage, settings: StorageSettings, node: str
) -> dict[str, Any]:
    """One pod, where the volume is in use if it is; the old one goes before the new one comes."""
    return {
        "metadata": _metadata(storage),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": selector(storage, Part.ACCESSOR)},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": pod_labels(storage, Part.ACCESSOR)},
                "spec": _pod(storage, settings.accessor_image, node),
            },
        },
    }


def access_url(storage: GPUStorage, settings: StorageSettings) -> str:
    """Where the files are browsed."""
    name, namespace = names.accessor(storage.metadata.name), storage.metadata.namespace
    return f"http://{name}.{namespace}.svc.{settings.cluster_domain}:{PORT}"


def _metadata(storage: GPUStorage) -> dict[str, Any]:
    return child_metadata(storage, names.accessor(storage.metadata.name), Part.ACCESSOR)


def _pod(storage: GPUStorage, image: str, node: str) -> dict[str, Any]:
    claim = {"claimName": storage.metadata.name, "readOnly": True}
    return {
        **locked_down_pod(),
        "terminationGracePeriodSeconds": 1,  # a unit may wait for the volume
        **non_empty({"affinity": _only_on(node)}),
        "containers": [_container(image)],
        "volumes": [{"name": "data", "persistentVolumeClaim": claim}],
    }


def _container(image: str) -> dict[str, Any]:
    return {
        "name": "accessor",
        "image": image,
        "command": list(SERVER),
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": PORT}},
        "securityContext": {**locked_down_container(), "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "data", "mountPath": DATA, "readOnly": True}],
    }


def _only_on(node: str) -> dict[str, Any]:
    if not node:
        return {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
