"""Pod of a serverless unit: the user's program and the worker beside it."""

from collections.abc import Mapping
from typing import Any, Final

from controller.gpuunit.resources.sidecar import (
    DRAIN_PATH,
    QUEUE_VOLUME,
    SOCKET_VOLUME,
    WORKER_GID,
    worker_container,
)
from controller.gpuunit.settings import UnitSettings
from shared.v1alpha1 import names
from shared.v1alpha1.framework_endpoint import socket_folder
from shared.v1alpha1.gpuunit import GPUUnit, ServerlessSpec
from shared.v1alpha1.validation.serverless import WORKER_PORT

GRACE_MARGIN_SECONDS: Final = 30
MAX_GRACE_SECONDS: Final = 3600
SECRET_MODE: Final = 0o440


def worker_pod_spec(
    pod_spec: Mapping[str, Any], unit: GPUUnit, serverless: ServerlessSpec, settings: UnitSettings
) -> dict[str, Any]:
    """Add the worker to `pod_spec`, which runs the user's program.

    The folder of the socket belongs to the fsGroup, which both containers have.
    """
    (program,) = pod_spec["containers"]
    security = {"fsGroup": WORKER_GID, "fsGroupChangePolicy": "OnRootMismatch"}
    return {
        **pod_spec,
        "securityContext": {**pod_spec["securityContext"], **security},
        "terminationGracePeriodSeconds": termination_grace_seconds(serverless),
        "initContainers": [worker_container(unit, serverless, settings.sidecar)],
        "containers": [_with_drain_hook(program, serverless)],
        "volumes": [*pod_spec.get("volumes", ()), _socket_volume(), _queue_volume(serverless)],
    }


def termination_grace_seconds(serverless: ServerlessSpec) -> int:
    """Return how long running invocations have to finish."""
    return min(serverless.timeout_seconds + GRACE_MARGIN_SECONDS, MAX_GRACE_SECONDS)


def _with_drain_hook(container: Mapping[str, Any], serverless: ServerlessSpec) -> dict[str, Any]:
    """Add the hook that drains the worker: as a sidecar it is stopped after the program."""
    socket = {"name": SOCKET_VOLUME, "mountPath": socket_folder(serverless.framework)}
    drain = {"httpGet": {"path": DRAIN_PATH, "port": WORKER_PORT}}
    return {
        **container,
        "volumeMounts": [*container.get("volumeMounts", ()), socket],
        "lifecycle": {"preStop": drain},
    }


def _socket_volume() -> dict[str, Any]:
    return {"name": SOCKET_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


def _queue_volume(serverless: ServerlessSpec) -> dict[str, Any]:
    secret = {
        "secretName": names.queue_secret_name(serverless.function_name),
        "defaultMode": SECRET_MODE,
    }
    return {"name": QUEUE_VOLUME, "secret": secret}
