"""A gateway that stops asking a server which does not answer."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from apiserver.circuit_breaker import CallResult, CircuitBreaker
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, KubeClient, ListOptions, Page, T
from apiserver.kube.request import InvalidNameError, UnencodableBodyError
from apiserver.kube.resources import Resource
from apiserver.kube.rest import REQUEST_TIMEOUT_SECONDS
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass


class CircuitBreakerClient:
    """Passes calls on while the server answers, and fails them at once while it does not."""

    def __init__(self, client: KubeClient, breaker: CircuitBreaker) -> None:
        self._client = client
        self._breaker = breaker
        self._last_error = ""

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return self._client.server

    async def server_version(
        self, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> ServerVersion:
        """Ask in any case: this is how an outage is seen to end.

        A server that cannot reach its storage still tells its version, so that closes nothing.
        """
        version = await self._client.server_version(timeout_seconds=timeout_seconds)
        self._breaker.allow_probe_now()
        return version

    async def list_nodes(
        self, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> tuple[Node, ...]:
        """Every node."""
        async with self._through_breaker():
            return await self._client.list_nodes(timeout_seconds=timeout_seconds)

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        """Every StorageClass."""
        async with self._through_breaker():
            return await self._client.list_storage_classes()

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now."""
        async with self._through_breaker():
            return await self._client.get(resource, namespace, name)

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        """One page."""
        async with self._through_breaker():
            return await self._client.list(resource, namespace, options)

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        """Make an object."""
        async with self._through_breaker():
            return await self._client.create(resource, namespace, body)

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        """Merge `body` in."""
        async with self._through_breaker():
            return await self._client.patch(resource, namespace, name, body, subresource)

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
        async with self._through_breaker():
            await self._client.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version
            )

    def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every version of one object.

        Watches break all at once and last long, so they neither count nor serve as a trial.
        """
        if self._breaker.is_open:
            raise self._not_sent_error()
        return self._client.watch(resource, namespace, name, resource_version)

    @asynccontextmanager
    async def _through_breaker(self) -> AsyncIterator[None]:
        entry = self._breaker.acquire()
        if entry is None:
            raise self._not_sent_error()
        outcome = CallResult.UNKNOWN
        try:
            yield
            outcome = CallResult.ANSWERED
        except kube_errors.KubeError as error:
            outcome = call_result_of(error)
            self._last_error = str(error) if outcome is CallResult.FAILED else self._last_error
            raise
        finally:
            self._breaker.release(entry, outcome)

    def _not_sent_error(self) -> kube_errors.NotSentError:
        pause = self._breaker.retry_after
        return kube_errors.NotSentError(f"{self._last_error} Not asked again for {pause} s.", pause)


def call_result_of(error: kube_errors.KubeError) -> CallResult:
    """What a failed call shows of the server: only silence speaks against it."""
    match error:
        case kube_errors.UnreachableError() | kube_errors.RequestTimeoutError():
            return CallResult.FAILED
        case InvalidNameError() | UnencodableBodyError():
            return CallResult.UNKNOWN
        case _:
            return CallResult.ANSWERED
