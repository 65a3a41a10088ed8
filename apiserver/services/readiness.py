"""Whether this process should be sent requests."""

from collections.abc import Callable

from apiserver.services.cluster import OFF, ClusterState


class Readiness:
    """Ready while the cluster answers, or is not wanted, and the process is not stopping."""

    def __init__(self, cluster: Callable[[], ClusterState]) -> None:
        self._cluster = cluster
        self._draining = False

    def drain(self) -> None:
        """Say from now on that this process is stopping."""
        self._draining = True

    def reasons(self) -> tuple[str, ...]:
        """Why not to send requests here; none when ready."""
        return reasons(self._cluster(), draining=self._draining)


def reasons(cluster: ClusterState, *, draining: bool) -> tuple[str, ...]:
    """Every reason, as a sentence each."""
    stopping = ("the process is stopping",) if draining else ()
    if cluster.connected or cluster == OFF:
        return stopping
    return (*stopping, f"Kubernetes is not connected: {cluster.error}")
