"""One process's view of the model: every call takes its turn."""

from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

import msgspec

from apiserver.kube.port import Body, Page, Selection
from apiserver.kube.resources import Object, Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass
from tests.model.scheduler import Turnstile
from tests.model.server import Document, ModelServer

T = TypeVar("T", bound=Object)
R = TypeVar("R")


class ModelClient:
    """Implements the port `Cluster`; others get their turn before a call and before its answer."""

    def __init__(self, server: ModelServer, turnstile: Turnstile) -> None:
        self._server = server
        self._turnstile = turnstile
        self.classes: tuple[StorageClass, ...] = ()

    @property
    def server(self) -> str:
        return "the model"

    async def version(self, *, within: float = 5.0) -> ServerVersion:
        """Nobody asks the model what it is."""
        raise NotImplementedError

    async def nodes(self, *, within: float = 5.0) -> tuple[Node, ...]:
        return ()

    async def storage_classes(self) -> tuple[StorageClass, ...]:
        return self.classes

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        return decoded(
            resource, await self._call(lambda: self._server.get(resource, namespace, name))
        )

    async def list(self, resource: Resource[T], namespace: str, selection: Selection) -> Page[T]:
        found = await self._call(lambda: self._server.list(resource, namespace, selection))
        shown = found[: selection.limit] if selection.limit else found
        return Page(tuple(decoded(resource, each) for each in shown), version=self._server.version)

    async def create(self, resource: Resource[T], namespace: str, body: Body) -> T:
        sent = msgspec.json.decode(msgspec.json.encode(body))
        return decoded(
            resource, await self._call(lambda: self._server.create(resource, namespace, sent))
        )

    async def patch(
        self, resource: Resource[T], namespace: str, name: str, body: Body, subresource: str = ""
    ) -> T:
        sent = msgspec.json.decode(msgspec.json.encode(body))
        return decoded(
            resource,
            await self._call(
                lambda: self._server.patch(resource, namespace, name, sent, subresource)
            ),
        )

    async def delete(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        await self._call(
            lambda: self._server.delete(resource, namespace, name, uid, resource_version)
        )

    async def watch(
        self, resource: Resource[T], namespace: str, name: str, version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every call is one moment here, so a watch only tells what is there now."""
        yield await self.get(resource, namespace, name)

    async def _call(self, call: Callable[[], R]) -> R:
        await self._turnstile.passed()
        try:
            return call()
        finally:
            await self._turnstile.passed()


def decoded(resource: Resource[T], document: Document) -> T:
    return msgspec.convert(document, resource.model)
