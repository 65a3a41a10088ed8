"""Whether this process should be sent requests."""

from collections.abc import Callable

from apiserver.health.cluster_state import OFF, ClusterState, first_count_is_awaited


class Readiness:
    """Ready while the cluster answers, or is not wanted, and the process is not stopping.

    A process that has just connected waits for its first count, so that health is whole as soon
    as requests come.
    """

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
    if cluster == OFF:
        return stopping
    if not cluster.connected:
        return (*stopping, f"Kubernetes is not connected: {cluster.error}")
    if first_count_is_awaited(cluster):
        return (*stopping, "the nodes and units of the cluster have not been counted yet")
    return stopping
