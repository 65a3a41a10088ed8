"""The status of a pod as a kubelet writes it; pure functions of the observed containers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hack.podrunner.pod import Container, Pod


@dataclass(frozen=True, slots=True)
class ObservedContainer:
    """The state of a container; `exit_code` is that of its previous process, if any."""

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
    """Return whether all containers and sidecars are ready."""
    everything = (*pod.spec.sidecars, *pod.spec.containers)
    return all(
        observed.get(container.name, ObservedContainer()).is_ready for container in everything
    )


def pod_status(pod: Pod, observed: Mapping[str, ObservedContainer]) -> dict[str, Any]:
    """Return the status without its conditions, which have a time."""
    was_started = all(
        observed.get(container.name, ObservedContainer()).is_running
        or observed.get(container.name, ObservedContainer()).exit_code is not None
        for container in pod.spec.containers
    )
    return {
        "phase": "Running" if was_started else "Pending",
        "initContainerStatuses": [
            container_status(sidecar, observed) for sidecar in pod.spec.sidecars
        ],
        "containerStatuses": [
            container_status(container, observed) for container in pod.spec.containers
        ],
    }


def ready_conditions(is_ready: bool, now: str) -> list[dict[str, str]]:
    """Return the conditions, with the time of the last change of readiness."""
    status = "True" if is_ready else "False"
    reason = {} if is_ready else {"reason": "ContainersNotReady"}
    changing = [
        {"type": kind, "status": status, "lastTransitionTime": now, **reason}
        for kind in ("Ready", "ContainersReady")
    ]
    return [{"type": "Initialized", "status": "True", "lastTransitionTime": now}, *changing]


def container_status(spec: Container, observed: Mapping[str, ObservedContainer]) -> dict[str, Any]:
    state = observed.get(spec.name, ObservedContainer())
    termination = {
        "exitCode": state.exit_code,
        "reason": "Error" if state.exit_code else "Completed",
    }
    return {
        "name": spec.name,
        "image": spec.image,
        "imageID": "",
        "ready": state.is_ready,
        "started": state.is_running,
        "restartCount": state.restarts,
        "state": container_state(state),
        "lastState": {} if state.exit_code is None else {"terminated": termination},
    }


def container_state(observed: ObservedContainer) -> dict[str, Any]:
    if observed.is_running:
        return {"running": {"startedAt": observed.started_at}}
    return {"waiting": {"reason": observed.waiting_reason, "message": observed.message}}
