"""What the use cases need from outside: the ports, their values and their failures."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from apiserver.kube.resources import KubeObject, Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

T = TypeVar("T", bound=KubeObject)
Item = TypeVar("Item")

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects of a list; `cached` takes what the server has at hand, a moment old."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list; `token` leads to the next one, and `version` is that of the list."""

    items: tuple[Item, ...]
    continue_token: str = ""
    remaining: int | None = None
    resource_version: str = ""


class ClusterReader(Protocol):
    """The Kubernetes API; every method raises KubeError and nothing else."""

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        ...

    async def server_version(self, *, timeout_seconds: float = ...) -> ServerVersion:
        """Ask the server what it is: the cheapest proof that it answers."""
        ...

    async def list_nodes(self, *, timeout_seconds: float = ...) -> tuple[Node, ...]:
        """Every node, as the server's own cache has it."""
        ...


class ObjectClient(Protocol):
    """The objects of our group in Kubernetes; every method raises KubeError and nothing else."""

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now; NotFoundError."""
        ...

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        """One page; ContinueExpiredError; InvalidError for a malformed token or selector."""
        ...

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        """Make an object; AlreadyExistsError, InvalidError."""
        ...

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        """Merge `body` in; ConflictError if its metadata has another uid or resourceVersion."""
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
        """Ask for its deletion; NotFoundError, ConflictError where a condition is not met."""
        ...

    def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every version of one object after `version`; None when it is deleted. Ends now and then.

        At once where `version` is older than what the server remembers.

        Close it (`aclose`) when done.
        """
        ...


class StorageClassReader(Protocol):
    """The ways in which the cluster makes volumes."""

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        """Every StorageClass, as the server's own cache has it; KubeError."""
        ...


class KubeClient(ClusterReader, ObjectClient, StorageClassReader, Protocol):
    """All that is asked of Kubernetes."""


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """Whether a connection stands, and if not, why."""

    connected: bool
    error: str | None = None
