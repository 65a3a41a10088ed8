"""How many objects an operation was asked for."""

from shared.v1alpha1.operation import Operation


def requested(job: Operation) -> int:
    """What the status says; a record that is just made has none, but holds the request."""
    replicas = (job.spec.request or {}).get("replicas", 1)
    return job.status.requested or (replicas if isinstance(replicas, int) else 1)
