"""The status of a pod as a kubelet writes it: pure, from what was seen of its containers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hack.podrunner.pod import Container, Pod


@dataclass(frozen=True, slots=True)
class ObservedContainer:
    """How a container is; `exit_code` is of the process before, if there was one."""

    started_at: str = ""
    is_ready: bool = False
    restarts: int = 0
    exit_code: int | None = None
    waiting_reason: str = "ContainerCreating"
    message: str = ""

    @property
    def is_running(self) -> bool:
        return bool(self.started_at)


def is_pod_ready(pod: Pod, observed: Mapping[str, ObservedContainer]) -> bool:
    """Whether all of it does its work."""
    everything = (*pod.spec.sidecars, *pod.spec.containers)
    return all(observed.get(each.name, ObservedContainer()).is_ready for each in everything)


def pod_status(pod: Pod, observed: Mapping[str, ObservedContainer]) -> dict[str, Any]:
    """Everything but the conditions, which have a time."""
    was_started = all(
        observed.get(each.name, ObservedContainer()).is_running
        or observed.get(each.name, ObservedContainer()).exit_code is not None
        for each in pod.spec.containers
    )
    return {
        "phase": "Running" if was_started else "Pending",
        "initContainerStatuses": [container_status(each, observed) for each in pod.spec.sidecars],
        "containerStatuses": [container_status(each, observed) for each in pod.spec.containers],
    }


def ready_conditions(is_ready: bool, now: str) -> list[dict[str, str]]:
    """What changes with the readiness of the pod."""
    status = "True" if is_ready else "False"
    why = {} if is_ready else {"reason": "ContainersNotReady"}
    changing = [
        {"type": kind, "status": status, "lastTransitionTime": now, **why}
        for kind in ("Ready", "ContainersReady")
    ]
    return [{"type": "Initialized", "status": "True", "lastTransitionTime": now}, *changing]


def container_status(spec: Container, observed: Mapping[str, ObservedContainer]) -> dict[str, Any]:
    found = observed.get(spec.name, ObservedContainer())
    ended = {"exitCode": found.exit_code, "reason": "Error" if found.exit_code else "Completed"}
    return {
        "name": spec.name,
        "image": spec.image,
        "imageID": "",
        "ready": found.is_ready,
        "started": found.is_running,
        "restartCount": found.restarts,
        "state": container_state(found),
        "lastState": {} if found.exit_code is None else {"terminated": ended},
    }


def container_state(observed: ObservedContainer) -> dict[str, Any]:
    if observed.is_running:
        return {"running": {"startedAt": observed.started_at}}
    return {"waiting": {"reason": observed.waiting_reason, "message": observed.message}}
