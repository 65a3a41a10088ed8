"""The interfaces through which services use Kubernetes, and their values."""

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
    """Selectors and paging of a list; `from_cache` allows a slightly old cached list."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of a list; `resource_version` is the list's, for a watch that follows it."""

    items: tuple[Item, ...]
    continue_token: str = ""
    remaining: int | None = None
    resource_version: str = ""


class ClusterReader(Protocol):
    """Access to the version and the nodes of the cluster; every method raises only KubeError."""

    @property
    def server(self) -> str:
        """Return the URL of the API server, for messages."""
        ...

    async def server_version(self, *, timeout_seconds: float = ...) -> ServerVersion:
        """Return the version of the server, the cheapest proof that it responds."""
        ...

    async def list_nodes(self, *, timeout_seconds: float = ...) -> tuple[Node, ...]:
        """Return all nodes, from the server's cache."""
        ...


class ObjectClient(Protocol):
    """Access to the objects of our API group; every method raises only KubeError."""

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """Return the current object; raises NotFoundError."""
        ...

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        """Return one page; raises ExpiredError, and InvalidError for a bad token or selector."""
        ...

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        """Create an object; raises AlreadyExistsError, InvalidError."""
        ...

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        """Merge `body` into an object; raises ConflictError for another uid or resourceVersion."""
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
        """Request a deletion; raises NotFoundError, ConflictError if a precondition fails."""
        ...

    def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """Yield every version of one object after `resource_version`; None when it is deleted.

        The server ends a watch after a while, and at once if `resource_version` is too old. The
        caller must close the generator (`aclose`).
        """
        ...


class StorageClassReader(Protocol):
    """Access to the StorageClasses of the cluster."""

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        """Return all StorageClasses, from the server's cache; raises KubeError."""
        ...


class KubeClient(ClusterReader, ObjectClient, StorageClassReader, Protocol):
    """The whole interface to Kubernetes."""
