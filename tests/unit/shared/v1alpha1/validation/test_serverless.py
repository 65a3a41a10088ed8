"""Tests of the validation of workers: every invalid field is reported."""

from typing import Any

import pytest

from shared.v1alpha1.validation.serverless import serverless_problems
from tests.support.builders.gpu_units import new_unit


def problems(**spec: Any) -> list[str]:
    return [problem.path for problem in serverless_problems(new_unit(**spec).spec)]


def with_framework(**framework: str) -> list[str]:
    field_paths = problems(serverless={"requestID": "echo", "framework": framework})
    return [path.removeprefix("spec.serverless.framework.") for path in field_paths]


def test_a_unit_that_is_not_a_worker_has_no_serverless_problems() -> None:
    assert problems(template={"ports": [{"name": "mine", "port": 9809}]}) == []


def test_a_worker_needs_only_the_name_of_its_function() -> None:
    assert problems(serverless={"requestID": "echo"}) == []


@pytest.mark.parametrize("name", ["-a", "a-", "A", "a.b", "a" * 49, "a\n"])
def test_an_invalid_function_name_is_refused(name: str) -> None:
    assert problems(serverless={"requestID": name}) == ["spec.serverless.requestID"]


@pytest.mark.parametrize(
    "path",
    [
        "f.sock",
        "/f.sock",
        "/proc/f.sock",
        "/sys/a/f",
        "/a/../f",
        "/a//f",
        "/a:b/f",
        "/a/" + "f" * 107,
    ],
)
def test_an_invalid_socket_path_is_refused(path: str) -> None:
    assert with_framework(socketPath=path) == ["socketPath"]


@pytest.mark.parametrize("path", ["/run/f.sock", "/var/run/gpu-runtime/other.sock", "/srv/a/f"])
def test_a_socket_may_be_in_any_other_folder(path: str) -> None:
    assert with_framework(socketPath=path) == []


@pytest.mark.parametrize("path", ["go", "/a b", "/\r\nX: 1", "/ü"])
def test_invalid_http_paths_of_the_framework_are_refused(path: str) -> None:
    assert with_framework(invokePath=path, healthPath=path) == ["invokePath", "healthPath"]


def test_the_port_of_the_worker_is_reserved() -> None:
    ports = [{"name": "a", "port": 9809, "protocol": "UDP"}, {"name": "b", "port": 9809}]
    field_paths = problems(serverless={"requestID": "echo"}, template={"ports": ports})
    assert field_paths == ["spec.template.ports[1].port"]


def test_a_storage_cannot_be_mounted_over_the_socket_folder() -> None:
    framework = {"socketPath": "/run/mine/f.sock"}
    mounts = [{"name": "a", "mountPath": "/run/mine/x/.."}, {"name": "b", "mountPath": "/run/my"}]
    serverless = {"requestID": "echo", "framework": framework}
    field_paths = problems(serverless=serverless, storageMounts=mounts)
    assert field_paths == ["spec.storageMounts[0].mountPath"]
