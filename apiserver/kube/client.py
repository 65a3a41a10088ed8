"""The ports to Kubernetes, over its HTTP API."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, TypeVar

import msgspec

from apiserver.kube import decoding, request, transport_errors
from apiserver.kube import errors as kube_errors
from apiserver.kube.decoding import UNDECODABLE, Event, Listing
from apiserver.kube.port import Body, Page, Selection, T
from apiserver.kube.request import Call
from apiserver.kube.resources import Resource
from apiserver.kube.rest import CALL_TIMEOUT, RestClient
from shared.k8s.node import Node, NodeList
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

R = TypeVar("R")

_VERSION: Final = Call("GET", "/version")
# From the server's cache: no quorum read for a status page, nor for what hardly ever changes.
_NODES: Final = Call("GET", "/api/v1/nodes", {"resourceVersion": "0"})
_CLASSES: Final = Call("GET", "/apis/storage.k8s.io/v1/storageclasses", {"resourceVersion": "0"})


class KubeGateway:
    """Asks an API server and turns its answers into typed objects."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return self._rest.server

    async def version(self, *, within: float = CALL_TIMEOUT) -> ServerVersion:
        """Ask the server what it is."""
        body = await self._rest.send(_VERSION, within=within)
        return self._read(_VERSION, lambda: msgspec.json.decode(body, type=ServerVersion))

    async def nodes(self, *, within: float = CALL_TIMEOUT) -> tuple[Node, ...]:
        """Every node."""
        body = await self._rest.send(_NODES, within=within)
        return self._read(_NODES, lambda: msgspec.json.decode(body, type=NodeList)).items

    async def storage_classes(self) -> tuple[StorageClass, ...]:
        """Every StorageClass."""
        body = await self._rest.send(_CLASSES)
        classes = Listing[StorageClass]
        return self._read(_CLASSES, lambda: msgspec.json.decode(body, type=classes)).items

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now."""
        return await self._one(resource, request.get(resource, namespace, name))

    async def list(self, resource: Resource[T], namespace: str, selection: Selection) -> Page[T]:
        """One page."""
        asked = request.listing(resource, namespace, selection)
        body = await self._rest.send(asked)
        return self._read(asked, lambda: decoding.page(resource, body))

    async def create(self, resource: Resource[T], namespace: str, body: Body) -> T:
        """Make an object."""
        return await self._one(resource, request.create(resource, namespace, body))

    async def patch(
        self, resource: Resource[T], namespace: str, name: str, body: Body, subresource: str = ""
    ) -> T:
        """Merge `body` in."""
        asked = request.patch(resource, namespace, name, body, subresource)
        return await self._one(resource, asked)

    async def delete(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        """Ask for its deletion."""
        conditions = {"uid": uid, "resourceVersion": resource_version}
        await self._rest.send(request.delete(resource, namespace, name, conditions))

    async def watch(
        self, resource: Resource[T], namespace: str, name: str, version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every version of one object after `version`; ends where it must be read again."""
        asked = request.watch(resource, namespace, name, version)
        try:
            stream = await self._rest.stream(asked)
        except kube_errors.ContinueExpiredError:
            return
        try:
            while (lines := await stream.lines()) is not None:
                for event in self._events(asked, lines):
                    if event.type == "ERROR":
                        return
                    if event.type != "BOOKMARK":
                        yield self._version(resource, asked, event)
        finally:
            stream.close()

    async def _one(self, resource: Resource[T], asked: Call) -> T:
        body = await self._rest.send(asked)
        return self._read(asked, lambda: decoding.one(resource, body))

    def _events(self, asked: Call, lines: Sequence[bytes]) -> Sequence[Event]:
        return self._read(asked, lambda: tuple(map(decoding.event, lines)))

    def _version(self, resource: Resource[T], asked: Call, event: Event) -> T | None:
        if event.type == "DELETED":
            return None
        return self._read(asked, lambda: decoding.one(resource, event.object))

    def _read(self, asked: Call, decode: Callable[[], R]) -> R:
        try:
            return decode()
        except UNDECODABLE as error:
            raise transport_errors.unreadable(self.server, asked, error) from error
