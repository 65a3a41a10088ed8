"""Validation of a unit that is the worker of a function."""

import re
from collections.abc import Iterator
from typing import Final

from shared.invocation.ids import is_function_name
from shared.v1alpha1.framework_endpoint import (
    MAX_SOCKET_PATH_BYTES,
    FrameworkEndpoint,
    resolve_endpoint,
    socket_folder,
)
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.mounts import is_path_within, is_reserved_path, normalise_path
from shared.v1alpha1.validation.problem import Problem

WORKER_PORT: Final = 9809  # the port on which the worker answers probes

_URL_PATH: Final = re.compile(r"/[!-~]*")


def serverless_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Return the problems that keep the unit from being a worker; empty for other units."""
    if spec.serverless is None:
        return []
    return [
        *_function_name_problems(spec.serverless.function_name),
        *_endpoint_problems(resolve_endpoint(spec.serverless.framework)),
        *_port_problems(spec),
        *_mount_problems(spec, normalise_path(socket_folder(spec.serverless.framework))),
    ]


def _function_name_problems(text: str) -> Iterator[Problem]:
    if not is_function_name(text):
        message = (
            "is not the name of a function: lower case letters, digits and -, at most 48 characters"
        )
        yield Problem("spec.serverless.requestID", text, message)


def _endpoint_problems(endpoint: FrameworkEndpoint) -> Iterator[Problem]:
    path, socket_path = "spec.serverless.framework", endpoint.socket_path
    is_normalised = socket_path.startswith("/") and socket_path == normalise_path(socket_path)
    if not is_normalised or ":" in socket_path:
        message = "is not a normalised absolute path without a colon, such as /run/app/a.sock"
        yield Problem(f"{path}.socketPath", socket_path, message)
    elif len(socket_path.encode()) > MAX_SOCKET_PATH_BYTES:
        message = f"is longer than {MAX_SOCKET_PATH_BYTES} bytes"
        yield Problem(f"{path}.socketPath", socket_path, message)
    elif _is_system_folder(socket_folder(endpoint)):
        yield Problem(f"{path}.socketPath", socket_path, "is in a reserved folder of the system")
    for name, value in (("invokePath", endpoint.invoke_path), ("healthPath", endpoint.health_path)):
        if _URL_PATH.fullmatch(value) is None:
            message = "is not a URL path: / and then printable ASCII characters"
            yield Problem(f"{path}.{name}", value, message)


def _is_system_folder(folder: str) -> bool:
    is_default = folder == socket_folder(None)
    return not is_default and is_reserved_path(folder)


def _port_problems(spec: GPUUnitSpec) -> Iterator[Problem]:
    for position, port in enumerate(spec.template.ports if spec.template else ()):
        if (port.port, port.protocol) == (WORKER_PORT, "TCP"):
            path = f"spec.template.ports[{position}].port"
            yield Problem(path, str(port.port), "is reserved for the worker")


def _mount_problems(spec: GPUUnitSpec, folder: str) -> Iterator[Problem]:
    for position, mount in enumerate(spec.storage_mounts):
        path = normalise_path(mount.mount_path)
        if is_path_within(path, folder) and not is_reserved_path(path):
            message = "is in the folder of the framework's socket"
            yield Problem(f"spec.storageMounts[{position}].mountPath", mount.mount_path, message)
