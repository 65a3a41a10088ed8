"""What the use cases need from outside: the ports, their values and their failures."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from apiserver.kube.resources import Object, Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

T = TypeVar("T", bound=Object)
Item = TypeVar("Item")

Body = Mapping[str, Any]


class ClusterError(Exception):
    """Kubernetes did not do what was asked; the text says to an operator what to check.

    `is_uncertain`: a write may have taken effect all the same.
    """

    is_uncertain: ClassVar[bool] = False


class ClusterUnreachableError(ClusterError):
    """No connection, or one that broke."""

    is_uncertain = True


class ClusterNotAskedError(ClusterUnreachableError):
    """Nothing was sent, because nobody answers there; `retry_after` seconds until we ask again."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class ClusterTimeoutError(ClusterError):
    """A connection, but no answer in time."""

    is_uncertain = True


class ClusterRefusedError(ClusterError):
    """The server does not know us (401) or does not let us (403)."""


class QuotaExceededError(ClusterRefusedError):
    """403: it would be more than the namespace may hold; `message` is what the server says."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ClusterAnswerError(ClusterError):
    """An answer that is neither a success nor a refusal, or that cannot be read."""

    is_uncertain = True


class ClusterUnfitError(ClusterAnswerError):
    """An answer that no API server with our kinds and namespaces would give."""


class ClusterTooOldError(ClusterError):
    """A server of a version that we do not work with."""


class ClusterBusyError(ClusterError):
    """429, or a create that collides with others: come back, in `retry_after` seconds if given."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class AbsentError(ClusterError):
    """404: there is no such object."""


class TakenError(ClusterError):
    """409: the name is taken."""


class StaleError(ClusterError):
    """409: the object is no longer the one that was read."""


class RejectedError(ClusterError):
    """422, 413 or 400: the server will never take this; `message` is what it says.

    The message can repeat what was sent, so it is for the sender and not for the log.
    """

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ContinueExpiredError(ClusterError):
    """410: the rest of a list is no longer to be had."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a list; `cached` takes what the server has at hand, a moment old."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list; `token` leads to the next one, and `version` is that of the list."""

    items: tuple[Item, ...]
    token: str = ""
    remaining: int | None = None
    version: str = ""


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


class Objects(Protocol):
    """The objects of our group in Kubernetes; every method raises ClusterError and nothing else."""

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now; AbsentError."""
        ...

    async def list(self, resource: Resource[T], namespace: str, selection: Selection) -> Page[T]:
        """One page; ContinueExpiredError, RejectedError for a token or selector that is none."""
        ...

    async def create(self, resource: Resource[T], namespace: str, body: Body) -> T:
        """Make an object; TakenError, RejectedError."""
        ...

    async def patch(
        self, resource: Resource[T], namespace: str, name: str, body: Body, subresource: str = ""
    ) -> T:
        """Merge `body` in; with a uid or resourceVersion in its metadata StaleError if not met."""
        ...

    async def delete(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        """Ask for its deletion; AbsentError, StaleError where a condition is not met."""
        ...

    def watch(
        self, resource: Resource[T], namespace: str, name: str, version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every version of one object after `version`; None when it is deleted. Ends now and then.

        At once where `version` is older than what the server remembers.

        Close it (`aclose`) when done.
        """
        ...


class Classes(Protocol):
    """The ways in which the cluster makes volumes."""

    async def storage_classes(self) -> tuple[StorageClass, ...]:
        """Every StorageClass, as the server's own cache has it; ClusterError."""
        ...


class Cluster(Gateway, Objects, Classes, Protocol):
    """All that is asked of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Link:
    """Whether a connection stands, and if not, why."""

    connected: bool
    error: str | None = None
