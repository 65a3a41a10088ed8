"""A way to Kubernetes on which calls go wrong, or the process dies, where a test says so."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from enum import Enum, auto
from typing import TypeVar

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Body, Cluster, Page, Selection
from apiserver.kube.resources import Object, Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

T = TypeVar("T", bound=Object)
R = TypeVar("R")


class Fault(Enum):
    """What can happen to one call."""

    NONE = auto()
    LATE = auto()  # the process stands still before it is sent, and others go on
    UNREACHABLE = auto()  # nothing was sent
    TIMEOUT = auto()  # it was sent, and nothing came of it
    LOST_ANSWER = auto()  # it took effect, and the answer never came
    BUSY = auto()
    CONFLICT = auto()  # a 409 that is not about our object; of a create, as quotas give
    FULL = auto()  # a quota has no room for what would be made
    SERVER_ERROR = auto()  # a 500 of a call that took effect
    KILLED_BEFORE = auto()
    KILLED_AFTER = auto()


async def no_pause() -> None:
    """Where nobody else is to go on meanwhile."""


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class Faulty:
    """Implements the port `Cluster` on top of another; `fault` decides what becomes of a call."""

    def __init__(
        self,
        behind: Cluster,
        fault: Callable[[], Fault],
        pause: Callable[[], Awaitable[None]] = no_pause,
    ) -> None:
        self._behind = behind
        self._fault = fault
        self._pause = pause
        self.is_dead = False

    @property
    def server(self) -> str:
        return self._behind.server

    async def version(self, *, within: float = 5.0) -> ServerVersion:
        return await self._behind.version(within=within)

    async def nodes(self, *, within: float = 5.0) -> tuple[Node, ...]:
        return await self._behind.nodes(within=within)

    async def storage_classes(self) -> tuple[StorageClass, ...]:
        return await self._behind.storage_classes()

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        return await self._call(lambda: self._behind.get(resource, namespace, name))

    async def list(self, resource: Resource[T], namespace: str, selection: Selection) -> Page[T]:
        return await self._call(lambda: self._behind.list(resource, namespace, selection))

    async def create(self, resource: Resource[T], namespace: str, body: Body) -> T:
        return await self._call(
            lambda: self._behind.create(resource, namespace, body), kube_errors.ClusterBusyError
        )

    async def patch(
        self, resource: Resource[T], namespace: str, name: str, body: Body, subresource: str = ""
    ) -> T:
        return await self._write(
            lambda: self._behind.patch(resource, namespace, name, body, subresource)
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
        await self._write(
            lambda: self._behind.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version
            )
        )

    def watch(
        self, resource: Resource[T], namespace: str, name: str, version: str
    ) -> AsyncGenerator[T | None, None]:
        return self._behind.watch(resource, namespace, name, version)

    async def _write(self, call: Callable[[], Awaitable[R]]) -> R:
        return await self._call(call, kube_errors.StaleError)

    async def _call(
        self,
        call: Callable[[], Awaitable[R]],
        conflict: type[kube_errors.ClusterError] | None = None,
    ) -> R:
        """`conflict` is what a 409 means to it."""
        self._live(Fault.NONE)
        fault = self._fault()
        if fault is Fault.LATE:
            await self._pause()
        self._before(fault, conflict)
        try:
            return await call()
        finally:
            self._after(fault)

    def _before(self, fault: Fault, conflict: type[kube_errors.ClusterError] | None) -> None:
        match fault:
            case Fault.UNREACHABLE:
                raise kube_errors.ClusterUnreachableError("nobody listens")
            case Fault.TIMEOUT:
                raise kube_errors.ClusterTimeoutError("nobody answers")
            case Fault.BUSY:
                raise kube_errors.ClusterBusyError("come back later", 1)
            case Fault.CONFLICT if conflict is not None:
                raise conflict("somebody else wrote something else")
            case Fault.FULL if conflict is kube_errors.ClusterBusyError:
                raise kube_errors.QuotaExceededError("403", "exceeded quota")
            case Fault.KILLED_BEFORE:
                self._live(fault)

    def _after(self, fault: Fault) -> None:
        match fault:
            case Fault.LOST_ANSWER:
                raise kube_errors.ClusterTimeoutError("the answer was lost")
            case Fault.SERVER_ERROR:
                raise kube_errors.ClusterAnswerError("500")
        self._live(fault)

    def _live(self, fault: Fault) -> None:
        """Go on, unless the process has died, at this call or at another."""
        self.is_dead |= fault in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER)
        if self.is_dead:
            raise Killed
