"""How the pods of a Job are, in the words of those who know."""

from collections.abc import Iterable

from controller.status.pod_diagnosis import ending_words, scheduler_words, waiting_words
from shared.k8s.pod import Pod


def endings(pods: Iterable[Pod]) -> str:
    """What the last of the failed containers left behind; empty where none did."""
    said = [
        f"container {container.name} ended with {ending_words(container.state.terminated)}"
        for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp)
        if pod.status.phase == "Failed"
        for container in pod.status.container_statuses
        if container.state.terminated is not None
    ]
    return said[-1] if said else ""


def delay(pods: Iterable[Pod]) -> str:
    """What the first of the pods waits for; empty where none waits."""
    said = (
        words
        for pod in pods
        for words in (scheduler_words(pod), *map(waiting_words, pod.status.container_statuses))
    )
    return next(filter(None, said), "")
