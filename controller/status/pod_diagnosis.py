"""Why a pod does not run yet, in the words of the scheduler and of the kubelet."""

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
    """Whether the scheduler has looked for a node and found none."""
    return any(map(_is_unschedulable_condition, pod.status.conditions))


def scheduling_message(pod: Pod) -> str:
    """Why no node was found; empty where one was, or none was looked for yet."""
    return next(
        (found.message for found in pod.status.conditions if _is_unschedulable_condition(found)), ""
    )


def has_image_error(container: ContainerStatus) -> bool:
    """Whether the container waits for an image that cannot be pulled."""
    waiting = container.state.waiting
    return waiting is not None and waiting.reason in IMAGE_ERROR_REASONS


def waiting_message(container: ContainerStatus) -> str:
    """What the container waits for; empty where it does not, or simply starts."""
    waiting = container.state.waiting
    if waiting is None or waiting.reason in STARTING_REASONS:
        return ""
    return join_nonempty(waiting.reason, waiting.message)


def termination_message(terminated: ContainerStateTerminated) -> str:
    """How a container ended, and what it wrote at last."""
    reason = terminated.reason or "no reason"
    return join_nonempty(f"{reason}, exit code {terminated.exit_code}", terminated.message.strip())


def join_nonempty(*parts: str) -> str:
    """The parts that say something."""
    return ": ".join(filter(None, parts))


def stable_message(previous: str, current: str) -> str:
    """`said`; but backing off from an image does not replace the error that it is about.

    The kubelet alternates between trying and backing off, and only the first says why it fails.
    """
    is_same_error = previous.startswith("ErrImagePull") and current.startswith("ImagePullBackOff")
    return previous if is_same_error else current


def _is_unschedulable_condition(condition: PodCondition) -> bool:
    return (condition.type, condition.status, condition.reason) == (
        "PodScheduled",
        "False",
        "Unschedulable",
    )
