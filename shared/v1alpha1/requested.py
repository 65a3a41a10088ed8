"""The number of objects that an operation requests."""

from shared.v1alpha1.operation import Operation


def requested_count(operation: Operation) -> int:
    """Return the number of requested objects.

    A new operation has no status yet; then the number is in its request.
    """
    replicas = (operation.spec.request or {}).get("replicas", 1)
    return operation.status.requested or (replicas if isinstance(replicas, int) else 1)
