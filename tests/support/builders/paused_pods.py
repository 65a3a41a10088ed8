"""Pods that stay as they are until they are told to go on: no clock runs against a test."""

from collections.abc import Sequence
from typing import Any

from tests.support.builders.pods import relabelled
from tests.support.cluster.isolated_installation import Site

HELD = "1h"


async def go_on(site: Site, pods: Sequence[dict[str, Any]], what: str) -> None:
    """Let what these pods wait for be over: their `delay`, `run-for` or `stop-for`."""
    for pod in pods:
        await relabelled(site.admin, pod, {f"sim.local/{what}": "1ms"})
