"""The implementation of the Kubernetes ports over the REST API."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, NoReturn, Protocol, TypeVar

import msgspec

from apiserver.kube import decoding, request, request_errors
from apiserver.kube import errors as kube_errors
from apiserver.kube.decoding import DECODE_ERRORS, ObjectList, WatchEvent
from apiserver.kube.port import JsonObject, ListOptions, Page, T
from apiserver.kube.request import KubeRequest
from apiserver.kube.resources import Resource
from apiserver.kube.rest import REQUEST_TIMEOUT_SECONDS, LineStream
from shared.k8s.node import Node, NodeList
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

R = TypeVar("R")

_VERSION_REQUEST: Final = KubeRequest("GET", "/version")
# Lists come from the server's cache: a status page and settings that rarely change need no quorum
# read.
_NODES_REQUEST: Final = KubeRequest("GET", "/api/v1/nodes", {"resourceVersion": "0"})
_STORAGE_CLASSES_REQUEST: Final = KubeRequest(
    "GET", "/apis/storage.k8s.io/v1/storageclasses", {"resourceVersion": "0"}
)


class Transport(Protocol):
    """The sender of requests to Kubernetes; every method raises only KubeError."""

    @property
    def server(self) -> str:
        """Return the URL of the API server, for messages."""
        ...

    async def send(
        self, request: KubeRequest, *, timeout_seconds: float = ..., guarded: bool = ...
    ) -> bytes:
        """Return the body of a successful response."""
        ...

    async def stream(self, request: KubeRequest) -> LineStream:
        """Open a streamed response."""
        ...


class NoCluster:
    """The transport of a process without a configured cluster: every request fails."""

    server = "no cluster"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def send(
        self,
        request: KubeRequest,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        guarded: bool = True,
    ) -> NoReturn:
        """Raise NotSentError with the reason why there is no cluster."""
        raise kube_errors.NotSentError(self._reason)

    async def stream(self, request: KubeRequest) -> NoReturn:
        """Raise NotSentError with the reason why there is no cluster."""
        raise kube_errors.NotSentError(self._reason)


class RestKubeClient:
    """A KubeClient that sends REST requests and decodes their responses."""

    def __init__(self, rest: Transport) -> None:
        self._rest = rest

    @property
    def server(self) -> str:
        """Return the URL of the API server, for messages."""
        return self._rest.server

    async def server_version(
        self, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> ServerVersion:
        """Return the version of the server; sent also while the circuit breaker is open."""
        body = await self._rest.send(
            _VERSION_REQUEST, timeout_seconds=timeout_seconds, guarded=False
        )
        return self._decode(_VERSION_REQUEST, lambda: msgspec.json.decode(body, type=ServerVersion))

    async def list_nodes(
        self, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> tuple[Node, ...]:
        """Return all nodes."""
        body = await self._rest.send(_NODES_REQUEST, timeout_seconds=timeout_seconds)
        return self._decode(_NODES_REQUEST, lambda: msgspec.json.decode(body, type=NodeList)).items

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        """Return all StorageClasses."""
        body = await self._rest.send(_STORAGE_CLASSES_REQUEST)
        classes = ObjectList[StorageClass]
        return self._decode(
            _STORAGE_CLASSES_REQUEST, lambda: msgspec.json.decode(body, type=classes)
        ).items

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """Return the current object."""
        return await self._send_for_object(resource, request.get_request(resource, namespace, name))

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        """Return one page of a list."""
        kube_request = request.list_request(resource, namespace, options)
        body = await self._rest.send(kube_request)
        return self._decode(kube_request, lambda: decoding.decode_page(resource, body))

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        """Create an object."""
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
        """Merge `body` into an object."""
        return await self._send_for_object(
            resource, request.patch_request(resource, namespace, name, body, subresource)
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
        """Request the deletion of an object."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        await self._rest.send(request.delete_request(resource, namespace, name, preconditions))

    async def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """Yield the versions of one object; the end means that it must be read again."""
        kube_request = request.watch_request(resource, namespace, name, resource_version)
        try:
            stream = await self._rest.stream(kube_request)
        except kube_errors.ExpiredError:
            return
        try:
            while (lines := await stream.read_lines()) is not None:
                for event in self._decode_events(kube_request, lines):
                    if event.type == "ERROR":
                        return
                    if event.type != "BOOKMARK":
                        yield self._decode_watched_object(resource, kube_request, event)
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
            raise request_errors.unreadable_response_error(self.server, request, error) from error
