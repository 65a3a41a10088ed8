"""A gateway for a process that knows of no cluster."""

from collections.abc import AsyncGenerator
from typing import NoReturn

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ListOptions, Page, T
from apiserver.kube.resources import Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass


class NoClusterClient:
    """Fails every call with the reason why there is no cluster."""

    server = "no cluster"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def server_version(self, *, timeout_seconds: float = 0.0) -> ServerVersion:
        """There is no server to ask."""
        self._fail()

    async def list_nodes(self, *, timeout_seconds: float = 0.0) -> tuple[Node, ...]:
        """There is no server to ask."""
        self._fail()

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        """There is no server to ask."""
        self._fail()

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """There is no server to ask."""
        self._fail()

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        """There is no server to ask."""
        self._fail()

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        """There is no server to ask."""
        self._fail()

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        """There is no server to ask."""
        self._fail()

    async def delete(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        """There is no server to ask."""
        self._fail()

    def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """There is no server to ask."""
        self._fail()

    def _fail(self) -> NoReturn:
        raise kube_errors.NotSentError(self._reason)
