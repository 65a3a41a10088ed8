"""The status of Deployments, which is later than that of their pods."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders.pods import condition


def is_rollout_complete(deployment: Mapping[str, Any]) -> bool:
    """Return whether the deployment controller has nothing more to write."""
    status = deployment.get("status", {})
    return (
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("availableReplicas", 0) == deployment["spec"]["replicas"]
        and condition(deployment, "Progressing").get("reason") == "NewReplicaSetAvailable"
    )
