"""The status of an operation that has succeeded."""

from typing import Any

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.phases import OperationPhase


def succeeded_status(kind: str, metadata: ObjectMeta) -> dict[str, Any]:
    """Return the status of an operation whose one object exists, as a merge patch."""
    created = {
        "kind": kind,
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
    }
    return {
        "phase": OperationPhase.SUCCEEDED.value,
        "requested": 1,
        "created": 1,
        "objects": [created],
    }
