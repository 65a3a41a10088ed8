"""What the use cases need from outside: the ports, their values and their failures."""

from dataclasses import dataclass
from typing import Protocol

from shared.node import Node
from shared.server_version import ServerVersion


class ClusterError(Exception):
    """Kubernetes did not do what was asked; the text says to an operator what to check."""


class ClusterUnreachableError(ClusterError):
    """No connection, or one that broke."""


class ClusterTimeoutError(ClusterError):
    """A connection, but no answer in time."""


class ClusterRefusedError(ClusterError):
    """The server does not know us (401) or does not let us (403)."""


class ClusterAnswerError(ClusterError):
    """An answer that is neither a success nor a refusal, or that cannot be read."""


class ClusterTooOldError(ClusterError):
    """A server of a version that we do not work with."""


class Gateway(Protocol):
    """The Kubernetes API; every method raises ClusterError and nothing else."""

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        ...

    async def version(self, *, within: float = ...) -> ServerVersion:
        """Ask the server what it is: the cheapest proof that it answers."""
        ...

    async def nodes(self, *, within: float = ...) -> tuple[Node, ...]:
        """Every node, as the server's own cache has it."""
        ...


@dataclass(frozen=True, slots=True)
class Link:
    """Whether a connection stands, and if not, why."""

    connected: bool
    error: str | None = None
