"""Reasons why a pod does not run yet, in the words of the scheduler and the kubelet."""

from typing import Final

from shared.k8s.pod import ContainerStateTerminated, ContainerStatus, Pod, PodCondition

STARTING_REASONS: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


IMAGE_ERROR_REASONS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)


def is_unschedulable(pod: Pod) -> bool:
    """Return whether the scheduler found no node."""
    return any(map(_is_unschedulable_condition, pod.status.conditions))


def scheduling_message(pod: Pod) -> str:
    """Return why no node was found; empty if one was, or before the first attempt."""
    return next(
        (item.message for item in pod.status.conditions if _is_unschedulable_condition(item)), ""
    )


def has_image_error(container: ContainerStatus) -> bool:
    """Return whether the container waits for an image that cannot be pulled."""
    waiting = container.state.waiting
    return waiting is not None and waiting.reason in IMAGE_ERROR_REASONS


def waiting_message(container: ContainerStatus) -> str:
    """Return what the container waits for; empty if it does not wait or only starts."""
    waiting = container.state.waiting
    if waiting is None or waiting.reason in STARTING_REASONS:
        return ""
    return join_nonempty(waiting.reason, waiting.message)


def termination_message(terminated: ContainerStateTerminated) -> str:
    """Return how a container ended, with its termination message."""
    reason = terminated.reason or "unknown reason"
    return join_nonempty(f"{reason}, exit code {terminated.exit_code}", terminated.message.strip())


def join_nonempty(*parts: str) -> str:
    """Join the parts that are not empty."""
    return ": ".join(filter(None, parts))


def stable_message(previous: str, current: str) -> str:
    """Return `current`, except that ImagePullBackOff does not replace its ErrImagePull.

    The kubelet alternates between both, and only ErrImagePull says why the pull fails.
    """
    is_same_error = previous.startswith("ErrImagePull") and current.startswith("ImagePullBackOff")
    return previous if is_same_error else current


def _is_unschedulable_condition(condition: PodCondition) -> bool:
    return (condition.type, condition.status, condition.reason) == (
        "PodScheduled",
        "False",
        "Unschedulable",
    )
