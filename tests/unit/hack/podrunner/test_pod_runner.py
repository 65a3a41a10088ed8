"""Tests of the pod runner: it decides like a kubelet, and maps paths and ports to this machine."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hack.podrunner import pod_ports
from hack.podrunner.images import UnknownImageError, container_command, runs_as_processes
from hack.podrunner.launch import container_environment
from hack.podrunner.pod import Container, Pod
from hack.podrunner.pod_directory import PodDirectory
from hack.podrunner.pod_status import ObservedContainer, is_pod_ready, pod_status

RUNNING = ObservedContainer(started_at="now", is_ready=True)


def a_pod(image: str = "local/echo", labels: dict[str, str] | None = None, **spec: Any) -> Pod:
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
        (a_pod(), True),
        (a_pod("example/echo"), False),
        (a_pod(labels={"sim.local/mode": "crash-loop"}), False),
        (a_pod(nodeName=""), False),
    ],
)
def test_pods_of_local_images_on_a_node_have_processes(pod: Pod, expected: bool) -> None:
    assert runs_as_processes(pod) is expected


def test_an_image_is_its_program_unless_the_pod_names_another() -> None:
    echo = Container(name="unit", image="local/echo")
    other = Container(name="unit", image="local/mine", command=("python", "-m"), args=("mine",))
    assert container_command(echo) == (sys.executable, "-m", "serverless.framework.echo")
    assert container_command(other) == (sys.executable, "-m", "mine")
    with pytest.raises(UnknownImageError, match="local/mine"):
        container_command(Container(name="unit", image="local/mine"))


def test_paths_in_volumes_are_those_of_the_pod_s_folder() -> None:
    pod = a_pod()
    (program,) = pod.spec.containers
    found = container_environment(program, PodDirectory(Path("/home"), pod), {}, {})
    assert found == {"SOCKET": "1/f.sock", "PLAIN": "0/fx"}


@pytest.mark.parametrize(
    ("value", "here"),
    [
        ("0.0.0.0:9809", "127.0.0.1:20001"),
        (":9809", "127.0.0.1:20001"),
        ("[::]:9809", "127.0.0.1:20001"),
        ("0.0.0.0:80", "0.0.0.0:80"),
        ("nats://0.0.0.0:9809", "nats://0.0.0.0:9809"),
    ],
)
def test_only_what_listens_on_a_port_of_the_pod_is_moved(value: str, here: str) -> None:
    assert pod_ports.map_listen_address(value, {9809: 20001}) == here


def test_a_pod_is_ready_with_its_program_and_its_sidecar() -> None:
    pod = a_pod()
    assert not is_pod_ready(pod, {"unit": RUNNING})
    assert is_pod_ready(pod, {"unit": RUNNING, "worker": RUNNING})


def test_a_pod_is_pending_until_its_program_was_started_once() -> None:
    crashed = ObservedContainer(restarts=1, exit_code=137, waiting_reason="CrashLoopBackOff")
    assert pod_status(a_pod(), {"worker": RUNNING})["phase"] == "Pending"
    status = pod_status(a_pod(), {"worker": RUNNING, "unit": crashed})
    (program,), (sidecar,) = status["containerStatuses"], status["initContainerStatuses"]
    assert (status["phase"], program["restartCount"], sidecar["ready"]) == ("Running", 1, True)
    assert program["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert program["lastState"] == {"terminated": {"exitCode": 137, "reason": "Error"}}
