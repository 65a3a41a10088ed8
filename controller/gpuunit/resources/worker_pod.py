"""The pod of a unit that works for a function: the user's program, and the worker beside it."""

from collections.abc import Mapping
from typing import Any, Final

from controller.gpuunit.resources.sidecar import (
    DRAIN_PATH,
    GROUP,
    QUEUE_VOLUME,
    SOCKET_VOLUME,
    sidecar,
)
from controller.gpuunit.settings import UnitSettings
from shared.v1alpha1 import names
from shared.v1alpha1.framework_place import socket_folder
from shared.v1alpha1.gpuunit import GPUUnit, Serverless
from shared.v1alpha1.validation.serverless import WORKER_PORT

SPARE_SECONDS: Final = 30
LONGEST_GRACE_SECONDS: Final = 3600
SECRET_MODE: Final = 0o440


def worker_pod(
    pod: Mapping[str, Any], unit: GPUUnit, serverless: Serverless, settings: UnitSettings
) -> dict[str, Any]:
    """`pod`, which runs the user's program, with all that makes it a worker.

    The group is what the two containers have in common: the socket's folder belongs to it.
    """
    (program,) = pod["containers"]
    security = {"fsGroup": GROUP, "fsGroupChangePolicy": "OnRootMismatch"}
    return {
        **pod,
        "securityContext": {**pod["securityContext"], **security},
        "terminationGracePeriodSeconds": grace_seconds(serverless),
        "initContainers": [sidecar(unit, serverless, settings.sidecar)],
        "containers": [_drained(program, serverless)],
        "volumes": [*pod.get("volumes", ()), _socket_volume(), _queue_volume(serverless)],
    }


def grace_seconds(serverless: Serverless) -> int:
    """Long enough for what runs to finish."""
    return min(serverless.timeout_seconds + SPARE_SECONDS, LONGEST_GRACE_SECONDS)


def _drained(program: Mapping[str, Any], serverless: Serverless) -> dict[str, Any]:
    """The worker is told to stop only after the program has ended, so it is asked before that."""
    socket = {"name": SOCKET_VOLUME, "mountPath": socket_folder(serverless.framework)}
    drain = {"httpGet": {"path": DRAIN_PATH, "port": WORKER_PORT}}
    return {
        **program,
        "volumeMounts": [*program.get("volumeMounts", ()), socket],
        "lifecycle": {"preStop": drain},
    }


def _socket_volume() -> dict[str, Any]:
    return {"name": SOCKET_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


def _queue_volume(serverless: Serverless) -> dict[str, Any]:
    secret = {"secretName": names.queue_secret(serverless.request_id), "defaultMode": SECRET_MODE}
    return {"name": QUEUE_VOLUME, "secret": secret}
