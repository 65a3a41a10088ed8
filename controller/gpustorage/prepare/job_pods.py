"""How the pods of a Job are, in the words of those who know."""

from collections.abc import Iterable

from controller.status.pod_diagnosis import scheduling_message, termination_message, waiting_message
from shared.k8s.pod import Pod


def failure_message(pods: Iterable[Pod]) -> str:
    """What the last of the failed containers left behind; empty where none did."""
    said = [
        f"container {container.name} ended with {termination_message(container.state.terminated)}"
        for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp)
        if pod.status.phase == "Failed"
        for container in pod.status.container_statuses
        if container.state.terminated is not None
    ]
    return said[-1] if said else ""


def wait_message(pods: Iterable[Pod]) -> str:
    """What the first of the pods waits for; empty where none waits."""
    said = (
        words
        for pod in pods
        for words in (scheduling_message(pod), *map(waiting_message, pod.status.container_statuses))
    )
    return next(filter(None, said), "")
