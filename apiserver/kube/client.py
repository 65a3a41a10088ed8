"""The ports to Kubernetes, over its HTTP API."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, TypeVar

import msgspec

from apiserver.kube import decoding, request, transport_errors
from apiserver.kube import errors as kube_errors
from apiserver.kube.decoding import DECODE_ERRORS, ObjectList, WatchEvent
from apiserver.kube.port import JsonObject, ListOptions, Page, T
from apiserver.kube.request import KubeRequest
from apiserver.kube.resources import Resource
from apiserver.kube.rest import REQUEST_TIMEOUT_SECONDS, RestClient
from shared.k8s.node import Node, NodeList
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

R = TypeVar("R")

_VERSION_REQUEST: Final = KubeRequest("GET", "/version")
# From the server's cache: no quorum read for a status page, nor for what hardly ever changes.
_NODES_REQUEST: Final = KubeRequest("GET", "/api/v1/nodes", {"resourceVersion": "0"})
_STORAGE_CLASSES_REQUEST: Final = KubeRequest(
    "GET", "/apis/storage.k8s.io/v1/storageclasses", {"resourceVersion": "0"}
)


class RestKubeClient:
    """Asks an API server and turns its answers into typed objects."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return self._rest.server

    async def server_version(
        self, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> ServerVersion:
        """Ask the server what it is."""
        body = await self._rest.send(_VERSION_REQUEST, timeout_seconds=timeout_seconds)
        return self._decode(_VERSION_REQUEST, lambda: msgspec.json.decode(body, type=ServerVersion))

    async def list_nodes(
        self, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> tuple[Node, ...]:
        """Every node."""
        body = await self._rest.send(_NODES_REQUEST, timeout_seconds=timeout_seconds)
        return self._decode(_NODES_REQUEST, lambda: msgspec.json.decode(body, type=NodeList)).items

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        """Every StorageClass."""
        body = await self._rest.send(_STORAGE_CLASSES_REQUEST)
        classes = ObjectList[StorageClass]
        return self._decode(
            _STORAGE_CLASSES_REQUEST, lambda: msgspec.json.decode(body, type=classes)
        ).items

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now."""
        return await self._send_for_object(resource, request.get_request(resource, namespace, name))

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        """One page."""
        asked = request.list_request(resource, namespace, options)
        body = await self._rest.send(asked)
        return self._decode(asked, lambda: decoding.decode_page(resource, body))

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        """Make an object."""
        return await self._send_for_object(
            resource, request.create_request(resource, namespace, body)
        )

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        """Merge `body` in."""
        asked = request.patch_request(resource, namespace, name, body, subresource)
        return await self._send_for_object(resource, asked)

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
        await self._rest.send(request.delete_request(resource, namespace, name, conditions))

    async def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every version of one object after `version`; ends where it must be read again."""
        asked = request.watch_request(resource, namespace, name, resource_version)
        try:
            stream = await self._rest.stream(asked)
        except kube_errors.ExpiredError:
            return
        try:
            while (lines := await stream.read_lines()) is not None:
                for event in self._decode_events(asked, lines):
                    if event.type == "ERROR":
                        return
                    if event.type != "BOOKMARK":
                        yield self._decode_watched_object(resource, asked, event)
        finally:
            stream.close()

    async def _send_for_object(self, resource: Resource[T], request: KubeRequest) -> T:
        body = await self._rest.send(request)
        return self._decode(request, lambda: decoding.decode_object(resource, body))

    def _decode_events(self, request: KubeRequest, lines: Sequence[bytes]) -> Sequence[WatchEvent]:
        return self._decode(request, lambda: tuple(map(decoding.decode_event, lines)))

    def _decode_watched_object(
        self, resource: Resource[T], request: KubeRequest, event: WatchEvent
    ) -> T | None:
        if event.type == "DELETED":
            return None
        return self._decode(request, lambda: decoding.decode_object(resource, event.object))

    def _decode(self, request: KubeRequest, decode: Callable[[], R]) -> R:
        try:
            return decode()
        except DECODE_ERRORS as error:
            raise transport_errors.unreadable_response_error(self.server, request, error) from error
