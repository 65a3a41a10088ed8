"""A client of the model, whose calls the scheduler orders."""

from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

import msgspec

from apiserver.kube.port import JsonObject, ListOptions, Page
from apiserver.kube.resources import KubeObject, Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass
from tests.model.scheduler import DeterministicScheduler
from tests.model.server import Document, ModelServer

T = TypeVar("T", bound=KubeObject)
R = TypeVar("R")


class ModelGateway:
    """A KubeClient of the model; other tasks may run before a call and before its response."""

    def __init__(self, server: ModelServer, scheduler: DeterministicScheduler) -> None:
        self._server = server
        self._scheduler = scheduler
        self.known_storage_classes: tuple[StorageClass, ...] = ()

    @property
    def server(self) -> str:
        return "the model"

    async def server_version(self, *, timeout_seconds: float = 5.0) -> ServerVersion:
        """Raise NotImplementedError: no test reads the version of the model."""
        raise NotImplementedError

    async def list_nodes(self, *, timeout_seconds: float = 5.0) -> tuple[Node, ...]:
        return ()

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        return self.known_storage_classes

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        return decode_object(
            resource, await self._call(lambda: self._server.get(resource, namespace, name))
        )

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        matching = await self._call(lambda: self._server.list(resource, namespace, options))
        shown = matching[: options.limit] if options.limit else matching
        return Page(
            tuple(decode_object(resource, document) for document in shown),
            resource_version=self._server.version,
        )

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        sent = msgspec.json.decode(msgspec.json.encode(body))
        return decode_object(
            resource, await self._call(lambda: self._server.create(resource, namespace, sent))
        )

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        sent = msgspec.json.decode(msgspec.json.encode(body))
        return decode_object(
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
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """Yield the object as it is now: every call of the model is one moment."""
        yield await self.get(resource, namespace, name)

    async def _call(self, operation: Callable[[], R]) -> R:
        await self._scheduler.wait_turn()
        try:
            return operation()
        finally:
            await self._scheduler.wait_turn()


def decode_object(resource: Resource[T], document: Document) -> T:
    return msgspec.convert(document, resource.model)
