"""What a unit must say for it to be the worker of a function."""

import re
from collections.abc import Iterator
from typing import Final

from shared.invocation.ids import is_request_id
from shared.v1alpha1.framework_endpoint import Framework
from shared.v1alpha1.framework_place import LONGEST_SOCKET_PATH, place_of, socket_folder
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.mount_path import is_reserved, is_within, normalised
from shared.v1alpha1.validation.problem import Problem

WORKER_PORT: Final = 9809  # where the worker answers probes in the pod

_URL_PATH: Final = re.compile(r"/[!-~]*")


def serverless_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Everything that keeps the unit from being a worker; nothing for one that is none."""
    if spec.serverless is None:
        return []
    return [
        *_request_id(spec.serverless.request_id),
        *_framework(place_of(spec.serverless.framework)),
        *_ports(spec),
        *_mounts(spec, normalised(socket_folder(spec.serverless.framework))),
    ]


def _request_id(text: str) -> Iterator[Problem]:
    if not is_request_id(text):
        message = "is not the name of a function: lower case letters, digits and -, at most 48"
        yield Problem("spec.serverless.requestID", text, message)


def _framework(place: Framework) -> Iterator[Problem]:
    path, given = "spec.serverless.framework", place.socket_path
    if not given.startswith("/") or given != normalised(given) or ":" in given:
        yield Problem(f"{path}.socketPath", given, "is not an absolute path in its shortest form")
    elif len(given.encode()) > LONGEST_SOCKET_PATH:
        message = f"is longer than {LONGEST_SOCKET_PATH} bytes"
        yield Problem(f"{path}.socketPath", given, message)
    elif _is_system(socket_folder(place)):
        yield Problem(f"{path}.socketPath", given, "is in a folder of the system")
    for name, value in (("invokePath", place.invoke_path), ("healthPath", place.health_path)):
        if _URL_PATH.fullmatch(value) is None:
            message = "is not a path: / and printable ASCII characters"
            yield Problem(f"{path}.{name}", value, message)


def _is_system(folder: str) -> bool:
    is_ours = folder == socket_folder(None)
    return not is_ours and is_reserved(folder)


def _ports(spec: GPUUnitSpec) -> Iterator[Problem]:
    for place, port in enumerate(spec.template.ports if spec.template else ()):
        if (port.port, port.protocol) == (WORKER_PORT, "TCP"):
            yield Problem(f"spec.template.ports[{place}].port", str(port.port), "is the worker's")


def _mounts(spec: GPUUnitSpec, folder: str) -> Iterator[Problem]:
    for place, mount in enumerate(spec.storage_mounts):
        path = normalised(mount.mount_path)
        if is_within(path, folder) and not is_reserved(path):
            message = "is in the folder of the framework's socket"
            yield Problem(f"spec.storageMounts[{place}].mountPath", mount.mount_path, message)
