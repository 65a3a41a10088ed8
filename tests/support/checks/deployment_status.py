"""Deployments as their controller reports on them, which is later than their pods are ready."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders.pods import condition


def is_rollout_complete(deployment: Mapping[str, Any]) -> bool:
    """Whether its controller has nothing more to write about it."""
    status = deployment.get("status", {})
    return (
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("availableReplicas", 0) == deployment["spec"]["replicas"]
        and condition(deployment, "Progressing").get("reason") == "NewReplicaSetAvailable"
    )
