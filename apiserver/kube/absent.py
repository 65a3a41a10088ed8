"""A gateway for a process that knows of no cluster."""

from apiserver.gateway import ClusterUnreachableError
from shared.node import Node
from shared.server_version import ServerVersion


class AbsentGateway:
    """Fails every call with the reason why there is no cluster."""

    server = "no cluster"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def version(self, *, within: float = 0.0) -> ServerVersion:
        """There is no server to ask."""
        raise ClusterUnreachableError(self._reason)

    async def nodes(self, *, within: float = 0.0) -> tuple[Node, ...]:
        """There is no server to ask."""
        raise ClusterUnreachableError(self._reason)
