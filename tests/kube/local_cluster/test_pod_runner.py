"""Processes of pods with local images: started, probed, restarted and ended in order."""

import base64
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.podrunner.runner import run_pods
from tests.support.wait.eventually import eventually

COMMAND = ["python", "-m", "tests.support.cluster.recording_container"]


class Pods:
    """The pods of one namespace, and the log that their containers write."""

    def __init__(self, admin: AdminClient, namespace: str, log_path: Path) -> None:
        self._admin = admin
        self._root = f"/api/v1/namespaces/{namespace}"
        self._log_path = log_path

    async def create(self, **changes: Any) -> None:
        """Create a pod of a program and its sidecar, as the controller does."""
        program = {
            "name": "program",
            "image": "local/pretend",
            "command": COMMAND,
            "env": self._environment("program", "/shared"),
            "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
            "lifecycle": {"preStop": {"httpGet": {"path": "/drain", "port": 9809}}},
            **changes,
        }
        sidecar = {
            "name": "sidecar",
            "image": "example/sidecar:1",
            "restartPolicy": "Always",
            "command": COMMAND,
            "env": [
                *self._environment("sidecar", "/etc/secret"),
                {"name": "HTTP_ADDR", "value": "0.0.0.0:9809"},
            ],
            "ports": [{"containerPort": 9809}],
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": 9809}},
            "volumeMounts": [{"name": "secret", "mountPath": "/etc/secret"}],
        }
        volumes = [
            {"name": "shared", "emptyDir": {}},
            {"name": "secret", "secret": {"secretName": "keys"}},
        ]
        containers = {"initContainers": [sidecar], "containers": [program]}
        body = {"metadata": {"name": "one"}, "spec": {**containers, "volumes": volumes}}
        await self._admin.create(f"{self._root}/pods", body)

    async def create_secret(self) -> None:
        data = {"password": base64.b64encode(b"secret").decode()}
        body = {"metadata": {"name": "keys"}, "data": data}
        await self._admin.create(f"{self._root}/secrets", body)

    async def get(self) -> dict[str, Any]:
        pod: dict[str, Any] = await self._admin.get(f"{self._root}/pods/one")
        return pod

    async def ready(self) -> dict[str, Any]:
        return await eventually(self.get, is_ready)

    async def delete(self) -> None:
        """Delete the pod, and wait until it is gone."""
        await self._admin.delete(f"{self._root}/pods/one")

        async def is_gone() -> bool:
            try:
                await self.get()
            except ApiStatusError as error:
                return error.status == 404
            return False

        await eventually(is_gone)

    async def wait_started(self) -> list[list[str]]:
        """Wait until both containers run; return the lines that they have logged."""

        async def read() -> list[list[str]]:
            return self.log_lines()

        return await eventually(read, lambda lines: len(lines) == 2, tolerate=OSError)

    def log_lines(self) -> list[list[str]]:
        return [line.split() for line in self._log_path.read_text().splitlines()]

    def _environment(self, name: str, folder: str) -> list[dict[str, str]]:
        values = {"NAME": name, "NOTEBOOK": str(self._log_path), "FOLDER": folder}
        return [{"name": key, "value": value} for key, value in values.items()]


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return {"type": "Ready", "status": "True"} in [
        {"type": item["type"], "status": item["status"]} for item in conditions
    ]


def program_of(pod: dict[str, Any]) -> dict[str, Any]:
    (status,) = pod["status"].get("containerStatuses", [{}])
    return dict(status)


@pytest.fixture
async def pods(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[Pods]:
    """Create a namespace whose pods are run as processes."""
    kubeconfig = control_plane.layout.admin_kubeconfig
    async with run_pods(kubeconfig, tmp_path / "home", namespace):
        yield Pods(control_plane.admin, namespace, tmp_path / "log_path")


async def test_a_pod_waits_for_its_secret_and_stops_its_containers_in_order(pods: Pods) -> None:
    await pods.create()
    waiting = await eventually(pods.get, program_of)
    assert program_of(waiting)["state"]["waiting"]["reason"] == "ContainerCreating"

    await pods.create_secret()
    await pods.ready()
    started = await pods.wait_started()
    assert {tuple(line[:3]) for line in started} == {
        ("sidecar", "sees", "password"),
        ("program", "sees", "as"),
    }
    await pods.delete()
    ended = pods.log_lines()[len(started) :]
    assert ended == [["sidecar", "/drain"], ["program", "stops"], ["sidecar", "stops"]]


async def test_a_killed_program_is_restarted(pods: Pods) -> None:
    await pods.create_secret()
    await pods.create()
    await pods.ready()
    (pid,) = (int(line[-1]) for line in await pods.wait_started() if line[0] == "program")
    os.kill(pid, signal.SIGKILL)

    restarted = await eventually(
        pods.get, lambda pod: program_of(pod)["restartCount"] == 1 and is_ready(pod)
    )
    assert program_of(restarted)["lastState"]["terminated"]["exitCode"] == 128 + signal.SIGKILL


async def test_an_unknown_local_image_cannot_be_pulled(pods: Pods) -> None:
    await pods.create_secret()
    await pods.create(image="local/unknown", command=[])
    pod = await eventually(
        pods.get,
        lambda pod: (
            program_of(pod).get("state", {}).get("waiting", {}).get("reason") == "ErrImagePull"
        ),
    )
    assert "local/unknown" in program_of(pod)["state"]["waiting"]["message"]
