"""Container of the worker, which brings invocations from the queue to the user's program."""

from typing import Any, Final

import msgspec

from controller.apply.pod_security import container_security_context
from controller.gpuunit.resources.requirements import guaranteed_resources
from controller.gpuunit.settings import SidecarSettings
from shared.invocation.queue_names import QueueNames
from shared.v1alpha1.framework_endpoint import resolve_endpoint, socket_folder
from shared.v1alpha1.gpuunit import GPUUnit, ServerlessSpec
from shared.v1alpha1.validation.serverless import WORKER_PORT

WORKER_CONTAINER: Final = "worker"
SOCKET_VOLUME: Final = "framework-socket"
QUEUE_VOLUME: Final = "queue"
QUEUE_SECRET_DIR: Final = "/etc/gpu-runtime/queue"  # noqa: S105
DRAIN_PATH: Final = "/drain"
WORKER_UID: Final = 10809  # unlikely to be the user of any image
WORKER_GID: Final = 10809


def worker_container(
    unit: GPUUnit, serverless: ServerlessSpec, settings: SidecarSettings
) -> dict[str, Any]:
    """Build the sidecar: it starts before the program and ends after it.

    The program never waits for it; that is why it has no startup probe.
    """
    return {
        "name": WORKER_CONTAINER,
        "image": settings.image,
        "restartPolicy": "Always",
        "command": ["python", "-m", "serverless.worker"],
        "env": _worker_env(unit, serverless, settings.queue_names),
        "ports": [{"name": "worker", "containerPort": WORKER_PORT, "protocol": "TCP"}],
        "readinessProbe": _http_probe("/readyz", period_seconds=2),
        "livenessProbe": _http_probe("/healthz", period_seconds=10),
        "resources": guaranteed_resources({"cpu": settings.cpu, "memory": settings.memory}),
        "securityContext": _security_context(),
        "volumeMounts": [
            {"name": SOCKET_VOLUME, "mountPath": socket_folder(serverless.framework)},
            {"name": QUEUE_VOLUME, "mountPath": QUEUE_SECRET_DIR, "readOnly": True},
        ],
    }


def _worker_env(
    unit: GPUUnit, serverless: ServerlessSpec, queue_names: QueueNames
) -> list[dict[str, str]]:
    values = {
        "GPU_RUNTIME_REQUEST_ID": serverless.function_name,
        "GPU_RUNTIME_WORKER": unit.metadata.name,
        "GPU_RUNTIME_CONCURRENCY": str(serverless.concurrency),
        "GPU_RUNTIME_TIMEOUT_SECONDS": str(serverless.timeout_seconds),
        **framework_env(serverless),
        "GPU_RUNTIME_QUEUE_SECRET": QUEUE_SECRET_DIR,
        "GPU_RUNTIME_HTTP_ADDR": f"0.0.0.0:{WORKER_PORT}",
    }
    if queue_names != QueueNames():
        values["GPU_RUNTIME_QUEUE_NAMES"] = msgspec.json.encode(queue_names).decode()
    return [{"name": name, "value": value} for name, value in values.items()]


def _http_probe(path: str, *, period_seconds: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": WORKER_PORT},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
    }


def _security_context() -> dict[str, Any]:
    return {
        **container_security_context(),
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": WORKER_UID,
        "runAsGroup": WORKER_GID,
    }


def framework_env(serverless: ServerlessSpec | None) -> dict[str, str]:
    """Return the socket and paths that program and worker share; empty for other units."""
    if serverless is None:
        return {}
    endpoint = resolve_endpoint(serverless.framework)
    return {
        "GPU_RUNTIME_SOCKET": endpoint.socket_path,
        "GPU_RUNTIME_INVOKE_PATH": endpoint.invoke_path,
        "GPU_RUNTIME_HEALTH_PATH": endpoint.health_path,
    }
