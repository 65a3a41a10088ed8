"""How many objects an operation was asked for."""

from shared.v1alpha1.operation import Operation


def requested_count(operation: Operation) -> int:
    """What the status says; a record that is just made has none, but holds the request."""
    replicas = (operation.spec.request or {}).get("replicas", 1)
    return operation.status.requested or (replicas if isinstance(replicas, int) else 1)
