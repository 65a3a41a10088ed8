"""The worker's container: it brings invocations from the queue to the user's program."""

from typing import Any, Final

import msgspec

from controller.apply.pod_security import locked_down_container
from controller.gpuunit.resources.environment import framework_environment
from controller.gpuunit.resources.requirements import guaranteed
from controller.gpuunit.settings import SidecarSettings
from shared.invocation.queue_names import QueueNames
from shared.v1alpha1.framework_place import socket_folder
from shared.v1alpha1.gpuunit import GPUUnit, Serverless
from shared.v1alpha1.validation.serverless import WORKER_PORT

NAME: Final = "worker"
SOCKET_VOLUME: Final = "framework-socket"
QUEUE_VOLUME: Final = "queue"
QUEUE_FOLDER: Final = "/etc/gpu-runtime/queue"
DRAIN_PATH: Final = "/drain"
USER: Final = 10809  # no image of a user's is likely to run as it
GROUP: Final = 10809


def sidecar(unit: GPUUnit, serverless: Serverless, settings: SidecarSettings) -> dict[str, Any]:
    """Starts before the program and ends after it, and the program never waits for it.

    That is why it has no startup probe.
    """
    return {
        "name": NAME,
        "image": settings.image,
        "restartPolicy": "Always",
        "command": ["python", "-m", "serverless.worker"],
        "env": _environment(unit, serverless, settings.queue_names),
        "ports": [{"name": "worker", "containerPort": WORKER_PORT, "protocol": "TCP"}],
        "readinessProbe": _probe("/readyz", every=2),
        "livenessProbe": _probe("/healthz", every=10),
        "resources": guaranteed({"cpu": settings.cpu, "memory": settings.memory}),
        "securityContext": _security(),
        "volumeMounts": [
            {"name": SOCKET_VOLUME, "mountPath": socket_folder(serverless.framework)},
            {"name": QUEUE_VOLUME, "mountPath": QUEUE_FOLDER, "readOnly": True},
        ],
    }


def _environment(
    unit: GPUUnit, serverless: Serverless, queue_names: QueueNames
) -> list[dict[str, str]]:
    values = {
        "GPU_RUNTIME_REQUEST_ID": serverless.request_id,
        "GPU_RUNTIME_WORKER": unit.metadata.name,
        "GPU_RUNTIME_CONCURRENCY": str(serverless.concurrency),
        "GPU_RUNTIME_TIMEOUT_SECONDS": str(serverless.timeout_seconds),
        **framework_environment(serverless),
        "GPU_RUNTIME_QUEUE_SECRET": QUEUE_FOLDER,
        "GPU_RUNTIME_HTTP_ADDR": f"0.0.0.0:{WORKER_PORT}",
    }
    if queue_names != QueueNames():
        values["GPU_RUNTIME_QUEUE_NAMES"] = msgspec.json.encode(queue_names).decode()
    return [{"name": name, "value": value} for name, value in values.items()]


def _probe(path: str, *, every: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": WORKER_PORT},
        "periodSeconds": every,
        "timeoutSeconds": 5,
    }


def _security() -> dict[str, Any]:
    return {
        **locked_down_container(),
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": GROUP,
    }
