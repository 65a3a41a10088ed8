"""How the pods of a failed Job ended, in their own words."""

from collections.abc import Iterable

from shared.pod import Pod, Terminated


def endings(pods: Iterable[Pod]) -> str:
    """What the last of the failed containers left behind; empty where none did."""
    said = [
        text(container.name, container.state.terminated)
        for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp)
        if pod.status.phase == "Failed"
        for container in pod.status.container_statuses
        if container.state.terminated is not None
    ]
    return said[-1] if said else ""


def text(name: str, ended: Terminated) -> str:
    reason = ended.reason or "no reason"
    how = f"container {name} ended with {reason}, exit code {ended.exit_code}"
    return ": ".join(filter(None, (how, ended.message.strip())))
