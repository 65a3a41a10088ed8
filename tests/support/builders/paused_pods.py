"""Pods that stay as they are until they are told to go on: no clock runs against a test."""

from collections.abc import Sequence
from typing import Any

from tests.support.builders.pods import patch_pod_labels
from tests.support.cluster.isolated_installation import IsolatedInstallation

PAUSED = "1h"


async def resume_pods(
    installation: IsolatedInstallation, pods: Sequence[dict[str, Any]], label: str
) -> None:
    """Let what these pods wait for be over: their `delay`, `run-for` or `stop-for`."""
    for pod in pods:
        await patch_pod_labels(installation.admin, pod, {f"sim.local/{label}": "1ms"})
