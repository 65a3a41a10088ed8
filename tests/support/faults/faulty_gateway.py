"""A client of Kubernetes on which calls fail, or the process crashes, as a test decides."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from enum import Enum, auto
from typing import TypeVar

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, KubeClient, ListOptions, Page
from apiserver.kube.resources import KubeObject, Resource
from shared.k8s.node import Node
from shared.k8s.server_version import ServerVersion
from shared.k8s.storage_class import StorageClass

T = TypeVar("T", bound=KubeObject)
R = TypeVar("R")


class CallFault(Enum):
    """The fault of one call."""

    NONE = auto()
    DELAYED = auto()  # the process pauses before it sends, and others continue
    UNREACHABLE = auto()  # nothing was sent
    TIMEOUT = auto()  # it was not executed, and the caller cannot know
    LOST_ANSWER = auto()  # it took effect, and the response was lost
    BUSY = auto()
    CONFLICT = auto()  # a 409 that is not about our object; for a create, that of a quota
    QUOTA_EXCEEDED = auto()  # a quota forbids the new object
    SERVER_ERROR = auto()  # it took effect, and the response is a 500
    KILLED_BEFORE = auto()
    KILLED_AFTER = auto()


async def do_not_pause() -> None:
    """Return at once, without a pause for other processes."""


class ProcessKilled(BaseException):
    """The process has crashed, and none of its tasks runs."""


class FaultyGateway:
    """A KubeClient on top of another; `next_fault` decides the fault of each call."""

    def __init__(
        self,
        gateway: KubeClient,
        next_fault: Callable[[], CallFault],
        pause: Callable[[], Awaitable[None]] = do_not_pause,
    ) -> None:
        self._gateway = gateway
        self._next_fault = next_fault
        self._pause = pause
        self.is_dead = False

    @property
    def server(self) -> str:
        return self._gateway.server

    async def server_version(self, *, timeout_seconds: float = 5.0) -> ServerVersion:
        return await self._gateway.server_version(timeout_seconds=timeout_seconds)

    async def list_nodes(self, *, timeout_seconds: float = 5.0) -> tuple[Node, ...]:
        return await self._gateway.list_nodes(timeout_seconds=timeout_seconds)

    async def list_storage_classes(self) -> tuple[StorageClass, ...]:
        return await self._gateway.list_storage_classes()

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        return await self._call(lambda: self._gateway.get(resource, namespace, name))

    async def list(self, resource: Resource[T], namespace: str, options: ListOptions) -> Page[T]:
        return await self._call(lambda: self._gateway.list(resource, namespace, options))

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        return await self._call(
            lambda: self._gateway.create(resource, namespace, body), kube_errors.ThrottledError
        )

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        body: JsonObject,
        subresource: str = "",
    ) -> T:
        return await self._write(
            lambda: self._gateway.patch(resource, namespace, name, body, subresource)
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
            lambda: self._gateway.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version
            )
        )

    def watch(
        self, resource: Resource[T], namespace: str, name: str, resource_version: str
    ) -> AsyncGenerator[T | None, None]:
        return self._gateway.watch(resource, namespace, name, resource_version)

    async def _write(self, call: Callable[[], Awaitable[R]]) -> R:
        return await self._call(call, kube_errors.ConflictError)

    async def _call(
        self,
        call: Callable[[], Awaitable[R]],
        conflict: type[kube_errors.KubeError] | None = None,
    ) -> R:
        """Call with the next fault; `conflict` is the error that a 409 of this call becomes."""
        self._check_alive(CallFault.NONE)
        fault = self._next_fault()
        if fault is CallFault.DELAYED:
            await self._pause()
        self._fail_before(fault, conflict)
        try:
            return await call()
        finally:
            self._fail_after(fault)

    def _fail_before(self, fault: CallFault, conflict: type[kube_errors.KubeError] | None) -> None:
        match fault:
            case CallFault.UNREACHABLE:
                raise kube_errors.UnreachableError("connection refused")
            case CallFault.TIMEOUT:
                raise kube_errors.RequestTimeoutError("no response")
            case CallFault.BUSY:
                raise kube_errors.ThrottledError("try again later", 1)
            case CallFault.CONFLICT if conflict is not None:
                raise conflict("another write came first")
            case CallFault.QUOTA_EXCEEDED if conflict is kube_errors.ThrottledError:
                raise kube_errors.QuotaExceededError("403", "exceeded quota")
            case CallFault.KILLED_BEFORE:
                self._check_alive(fault)

    def _fail_after(self, fault: CallFault) -> None:
        match fault:
            case CallFault.LOST_ANSWER:
                raise kube_errors.RequestTimeoutError("the response was lost")
            case CallFault.SERVER_ERROR:
                raise kube_errors.ServerError("500")
        self._check_alive(fault)

    def _check_alive(self, fault: CallFault) -> None:
        """Raise ProcessKilled if the process has crashed, at this call or an earlier one."""
        self.is_dead |= fault in (CallFault.KILLED_BEFORE, CallFault.KILLED_AFTER)
        if self.is_dead:
            raise ProcessKilled
