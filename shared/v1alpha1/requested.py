"""The number of objects that an operation was asked for."""

from shared.v1alpha1.operation import Operation


def requested_count(operation: Operation) -> int:
    """Return the count in the status.

    A new operation has no status yet, but its request has the count.
    """
    replicas = (operation.spec.request or {}).get("replicas", 1)
    return operation.status.requested or (replicas if isinstance(replicas, int) else 1)
