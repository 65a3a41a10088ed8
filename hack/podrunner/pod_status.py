"""The status of a pod as a kubelet writes it: pure, from what was seen of its containers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hack.podrunner.pod import Container, Pod


@dataclass(frozen=True, slots=True)
class Seen:
    """How a container is; `exit_code` is of the process before, if there was one."""

    started_at: str = ""
    is_ready: bool = False
    restarts: int = 0
    exit_code: int | None = None
    waiting: str = "ContainerCreating"
    message: str = ""

    @property
    def is_running(self) -> bool:
        return bool(self.started_at)


def is_ready(pod: Pod, seen: Mapping[str, Seen]) -> bool:
    """Whether all of it does its work."""
    everything = (*pod.spec.sidecars, *pod.spec.containers)
    return all(seen.get(each.name, Seen()).is_ready for each in everything)


def pod_status(pod: Pod, seen: Mapping[str, Seen]) -> dict[str, Any]:
    """Everything but the conditions, which have a time."""
    was_started = all(
        seen.get(each.name, Seen()).is_running or seen.get(each.name, Seen()).exit_code is not None
        for each in pod.spec.containers
    )
    return {
        "phase": "Running" if was_started else "Pending",
        "initContainerStatuses": [container(each, seen) for each in pod.spec.sidecars],
        "containerStatuses": [container(each, seen) for each in pod.spec.containers],
    }


def conditions(ready: bool, now: str) -> list[dict[str, str]]:
    """What changes with the readiness of the pod."""
    status = "True" if ready else "False"
    why = {} if ready else {"reason": "ContainersNotReady"}
    changing = [
        {"type": kind, "status": status, "lastTransitionTime": now, **why}
        for kind in ("Ready", "ContainersReady")
    ]
    return [{"type": "Initialized", "status": "True", "lastTransitionTime": now}, *changing]


def container(spec: Container, seen: Mapping[str, Seen]) -> dict[str, Any]:
    found = seen.get(spec.name, Seen())
    ended = {"exitCode": found.exit_code, "reason": "Error" if found.exit_code else "Completed"}
    return {
        "name": spec.name,
        "image": spec.image,
        "imageID": "",
        "ready": found.is_ready,
        "started": found.is_running,
        "restartCount": found.restarts,
        "state": state(found),
        "lastState": {} if found.exit_code is None else {"terminated": ended},
    }


def state(found: Seen) -> dict[str, Any]:
    if found.is_running:
        return {"running": {"startedAt": found.started_at}}
    return {"waiting": {"reason": found.waiting, "message": found.message}}
