"""Why a pod does not run yet, in the words of the scheduler and of the kubelet."""

from typing import Final

from shared.k8s.pod import ContainerStatus, Pod, PodCondition, Terminated

STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


def is_unschedulable(pod: Pod) -> bool:
    """Whether the scheduler has looked for a node and found none."""
    return any(map(_is_refusal, pod.status.conditions))


def scheduler_words(pod: Pod) -> str:
    """Why no node was found; empty where one was, or none was looked for yet."""
    return next((found.message for found in pod.status.conditions if _is_refusal(found)), "")


def waiting_words(container: ContainerStatus) -> str:
    """What the container waits for; empty where it does not, or simply starts."""
    waiting = container.state.waiting
    if waiting is None or waiting.reason in STARTING:
        return ""
    return sentence(waiting.reason, waiting.message)


def ending_words(ended: Terminated) -> str:
    """How a container ended, and what it wrote at last."""
    reason = ended.reason or "no reason"
    return sentence(f"{reason}, exit code {ended.exit_code}", ended.message.strip())


def sentence(*parts: str) -> str:
    """The parts that say something."""
    return ": ".join(filter(None, parts))


def lasting(known: str, said: str) -> str:
    """`said`; but backing off from an image does not replace the error that it is about.

    The kubelet alternates between trying and backing off, and only the first says why it fails.
    """
    is_same_error = known.startswith("ErrImagePull") and said.startswith("ImagePullBackOff")
    return known if is_same_error else said


def _is_refusal(found: PodCondition) -> bool:
    return (found.type, found.status, found.reason) == ("PodScheduled", "False", "Unschedulable")
