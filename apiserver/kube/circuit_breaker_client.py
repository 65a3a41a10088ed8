"""A gateway that stops asking a server which does not answer."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from apiserver.circuit_breaker import Breaker, Outcome
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Body, Cluster, Page, Selection, T
from apiserver.kube.request import NoSuchNameError, UnencodableError
from apiserver.kube.resources import Resource
from apiserver.kube.rest import CALL_TIMEOUT
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass


class GuardedGateway:
    """Passes calls on while the server answers, and fails them at once while it does not."""

    def __init__(self, behind: Cluster, breaker: Breaker) -> None:
        self._behind = behind
        self._breaker = breaker
        self._trouble = ""

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return self._behind.server

    async def version(self, *, within: float = CALL_TIMEOUT) -> ServerVersion:
        """Ask in any case: this is how an outage is seen to end.

        A server that cannot reach its storage still tells its version, so that closes nothing.
        """
        version = await self._behind.version(within=within)
        self._breaker.try_now()
        return version

    async def nodes(self, *, within: float = CALL_TIMEOUT) -> tuple[Node, ...]:
        """Every node."""
        async with self._guarded():
            return await self._behind.nodes(within=within)

    async def storage_classes(self) -> tuple[StorageClass, ...]:
        """Every StorageClass."""
        async with self._guarded():
            return await self._behind.storage_classes()

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now."""
        async with self._guarded():
            return await self._behind.get(resource, namespace, name)

    async def list(self, resource: Resource[T], namespace: str, selection: Selection) -> Page[T]:
        """One page."""
        async with self._guarded():
            return await self._behind.list(resource, namespace, selection)

    async def create(self, resource: Resource[T], namespace: str, body: Body) -> T:
        """Make an object."""
        async with self._guarded():
            return await self._behind.create(resource, namespace, body)

    async def patch(
        self, resource: Resource[T], namespace: str, name: str, body: Body, subresource: str = ""
    ) -> T:
        """Merge `body` in."""
        async with self._guarded():
            return await self._behind.patch(resource, namespace, name, body, subresource)

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
        async with self._guarded():
            await self._behind.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version
            )

    def watch(
        self, resource: Resource[T], namespace: str, name: str, version: str
    ) -> AsyncGenerator[T | None, None]:
        """Every version of one object.

        Watches break all at once and last long, so they neither count nor serve as a trial.
        """
        if self._breaker.is_open:
            raise self._not_asked()
        return self._behind.watch(resource, namespace, name, version)

    @asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        entry = self._breaker.enter()
        if entry is None:
            raise self._not_asked()
        outcome = Outcome.UNKNOWN
        try:
            yield
            outcome = Outcome.ANSWERED
        except kube_errors.ClusterError as error:
            outcome = outcome_of(error)
            self._trouble = str(error) if outcome is Outcome.FAILED else self._trouble
            raise
        finally:
            self._breaker.leave(entry, outcome)

    def _not_asked(self) -> kube_errors.ClusterNotAskedError:
        pause = self._breaker.retry_after
        return kube_errors.ClusterNotAskedError(
            f"{self._trouble} Not asked again for {pause} s.", pause
        )


def outcome_of(error: kube_errors.ClusterError) -> Outcome:
    """What a failed call shows of the server: only silence speaks against it."""
    match error:
        case kube_errors.ClusterUnreachableError() | kube_errors.ClusterTimeoutError():
            return Outcome.FAILED
        case NoSuchNameError() | UnencodableError():
            return Outcome.UNKNOWN
        case _:
            return Outcome.ANSWERED
