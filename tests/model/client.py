"""One process's view of the model: calls take their turn, and some of them go wrong."""

from collections.abc import AsyncGenerator, Callable
from enum import Enum, auto
from typing import TypeVar

import msgspec

from apiserver.gateway import (
    Body,
    ClusterAnswerError,
    ClusterBusyError,
    ClusterTimeoutError,
    ClusterUnreachableError,
    Page,
    Selection,
)
from apiserver.resources import Object, Resource
from shared.node import Node
from shared.server_version import ServerVersion
from shared.storage_class import StorageClass
from tests.model.server import Document, ModelServer
from tests.model.turnstile import Turnstile

T = TypeVar("T", bound=Object)


class Fault(Enum):
    """What can happen to one call."""

    NONE = auto()
    UNREACHABLE = auto()  # nothing was sent
    LOST_ANSWER = auto()  # it took effect, and the answer never came
    BUSY = auto()
    SERVER_ERROR = auto()
    KILLED_BEFORE = auto()
    KILLED_AFTER = auto()


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class ModelClient:
    """Implements the port `Objects`; `fault` decides what becomes of each call."""

    def __init__(
        self,
        server: ModelServer,
        turnstile: Turnstile,
        fault: Callable[[], Fault] = lambda: Fault.NONE,
    ) -> None:
        self._server = server
        self._turnstile = turnstile
        self._fault = fault
        self.classes: tuple[StorageClass, ...] = ()
        self.calls = 0
        self._is_dead = False

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
        return Page(tuple(decoded(resource, each) for each in shown))

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

    async def _call(self, call: "Callable[[], R]") -> "R":
        if self._is_dead:
            raise Killed
        await self._turnstile.passed()
        self.calls += 1
        fault = self._fault()
        self._before(fault)
        try:
            answer = call()
        finally:
            self._after(fault)
        await self._turnstile.passed()
        return answer

    def _before(self, fault: Fault) -> None:
        match fault:
            case Fault.UNREACHABLE:
                raise ClusterUnreachableError("nobody listens")
            case Fault.BUSY:
                raise ClusterBusyError("come back later", 1)
            case Fault.KILLED_BEFORE:
                self._die()

    def _after(self, fault: Fault) -> None:
        match fault:
            case Fault.LOST_ANSWER:
                raise ClusterTimeoutError("the answer was lost")
            case Fault.SERVER_ERROR:
                raise ClusterAnswerError("500")
            case Fault.KILLED_AFTER:
                self._die()

    def _die(self) -> None:
        self._is_dead = True
        raise Killed


R = TypeVar("R")


def decoded(resource: Resource[T], document: Document) -> T:
    return msgspec.convert(document, resource.model)
