"""Readiness of this process."""

from collections.abc import Callable

from apiserver.health.cluster_state import KUBERNETES_OFF, ClusterState, is_first_count_pending


class Readiness:
    """The readiness: the process is not stopping, and the cluster is connected or not configured.

    A process that has just connected waits for its first count, so that health is complete before
    requests arrive.
    """

    def __init__(self, cluster: Callable[[], ClusterState]) -> None:
        self._cluster = cluster
        self._is_draining = False

    def drain(self) -> None:
        """Report from now on that the process is stopping."""
        self._is_draining = True

    def not_ready_reasons(self) -> tuple[str, ...]:
        """Return why the process is not ready; empty if it is."""
        return not_ready_reasons(self._cluster(), is_draining=self._is_draining)


def not_ready_reasons(cluster: ClusterState, *, is_draining: bool) -> tuple[str, ...]:
    """Return every reason, one sentence each; empty if ready."""
    stopping = ("the process is stopping",) if is_draining else ()
    if cluster == KUBERNETES_OFF:
        return stopping
    if not cluster.is_connected:
        return (*stopping, f"Kubernetes is not connected: {cluster.error}")
    if is_first_count_pending(cluster):
        return (*stopping, "the nodes and units of the cluster have not been counted yet")
    return stopping
