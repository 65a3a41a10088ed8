"""Tests of the pod runner: it decides like a kubelet, and maps paths and ports to this machine."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hack.podrunner.images import UnknownImageError, container_command, runs_as_processes
from hack.podrunner.launch import container_environment, map_listen_address
from hack.podrunner.pod import Container, Pod
from hack.podrunner.pod_directory import PodDirectory
from hack.podrunner.pod_status import ObservedContainer, is_pod_ready, pod_status

RUNNING = ObservedContainer(started_at="now", is_ready=True)


def new_pod(image: str = "local/echo", labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    """Return a pod with a program and a sidecar; by default the pod has a node."""
    program = {
        "name": "unit",
        "image": image,
        "env": [
            {"name": "SOCKET", "value": "/run/f/f.sock"},
            {"name": "PLAIN", "value": "/run/fx"},
        ],
        "volumeMounts": [
            {"name": "memory", "mountPath": "/run"},
            {"name": "socket", "mountPath": "/run/f"},
        ],
    }
    sidecar = {"name": "worker", "image": "example/worker", "restartPolicy": "Always"}
    body = {
        "metadata": {"name": "one", "uid": "0123456789", "labels": labels or {}},
        "spec": {
            "nodeName": "gpu-0",
            "containers": [program],
            "initContainers": [sidecar, {"name": "setup", "image": "example/setup"}],
            "volumes": [{"name": "memory"}, {"name": "socket"}],
            **spec,
        },
    }
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (new_pod(), True),
        (new_pod("example/echo"), False),
        (new_pod(labels={"sim.local/mode": "crash-loop"}), False),
        (new_pod(nodeName=""), False),
    ],
)
def test_pods_of_local_images_on_a_node_have_processes(pod: Pod, expected: bool) -> None:
    assert runs_as_processes(pod) is expected


def test_an_image_has_a_default_command_unless_the_container_has_one() -> None:
    echo = Container(name="unit", image="local/echo")
    other = Container(name="unit", image="local/mine", command=("python", "-m"), args=("mine",))
    assert container_command(echo) == (sys.executable, "-m", "serverless.framework.echo")
    assert container_command(other) == (sys.executable, "-m", "mine")
    with pytest.raises(UnknownImageError, match="local/mine"):
        container_command(Container(name="unit", image="local/mine"))


def test_volume_paths_in_the_environment_are_relative_to_the_pod_directory() -> None:
    pod = new_pod()
    (program,) = pod.spec.containers
    environment = container_environment(program, PodDirectory(Path("/home"), pod), {}, {})
    assert environment == {"SOCKET": "1/f.sock", "PLAIN": "0/fx"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0.0.0.0:9809", "127.0.0.1:20001"),
        (":9809", "127.0.0.1:20001"),
        ("[::]:9809", "127.0.0.1:20001"),
        ("0.0.0.0:80", "0.0.0.0:80"),
        ("nats://0.0.0.0:9809", "nats://0.0.0.0:9809"),
    ],
)
def test_only_listen_addresses_on_ports_of_the_pod_are_mapped(value: str, expected: str) -> None:
    assert map_listen_address(value, {9809: 20001}) == expected


def test_a_pod_is_ready_when_its_program_and_its_sidecar_are() -> None:
    pod = new_pod()
    assert not is_pod_ready(pod, {"unit": RUNNING})
    assert is_pod_ready(pod, {"unit": RUNNING, "worker": RUNNING})


def test_a_pod_is_pending_until_its_program_was_started_once() -> None:
    crashed = ObservedContainer(restarts=1, exit_code=137, waiting_reason="CrashLoopBackOff")
    assert pod_status(new_pod(), {"worker": RUNNING})["phase"] == "Pending"
    status = pod_status(new_pod(), {"worker": RUNNING, "unit": crashed})
    (program,), (sidecar,) = status["containerStatuses"], status["initContainerStatuses"]
    assert (status["phase"], program["restartCount"], sidecar["ready"]) == ("Running", 1, True)
    assert program["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert program["lastState"] == {"terminated": {"exitCode": 137, "reason": "Error"}}
