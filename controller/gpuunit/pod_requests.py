"""Comparison of the resource requests of pods."""

from collections.abc import Mapping

from shared.k8s.pod import Pod
from shared.k8s.quantity import Quantity


def is_within_requests_of(pod: Pod, occupant: Pod) -> bool:
    """Return whether `pod` requests no more than `occupant`.

    The node may have more free resources; only the scheduler knows them.
    """
    return is_within(total_requests(pod), total_requests(occupant))


def is_within_gpu_requests_of(pod: Pod, occupant: Pod) -> bool:
    """Return whether `pod` requests no more GPUs than `occupant`."""
    return is_within(gpu_requests(pod), gpu_requests(occupant))


def has_no_gpu_for(occupant: Pod, pod: Pod) -> bool:
    """Return whether `pod` requests GPUs of other kinds only than `occupant` has."""
    requested = gpu_requests(pod)
    return bool(requested) and not requested.keys() & gpu_requests(occupant).keys()


def is_within(requested: Mapping[str, Quantity], available: Mapping[str, Quantity]) -> bool:
    return all(amount <= available.get(name, Quantity(0)) for name, amount in requested.items())


def gpu_requests(pod: Pod) -> dict[str, Quantity]:
    """Return the requested extended resources, whose names have a domain."""
    total = total_requests(pod)
    return {name: total[name] for name in total if "/" in name and total[name] > Quantity(0)}


def total_requests(pod: Pod) -> dict[str, Quantity]:
    """Add up the requests of all containers that run side by side."""
    total: dict[str, Quantity] = {}
    for container in pod.spec.long_running_containers:
        for name, text in container.resources.requests.items():
            nanos = total.get(name, Quantity(0)).nanos + Quantity.parse(text).nanos
            total[name] = Quantity(nanos)
    return total
