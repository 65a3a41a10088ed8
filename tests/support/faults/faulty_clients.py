"""Clients of the controller library whose writes fail or crash, on a real server."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeVar

from controller.runtime.client.client import Body, Client, Preconditions, Propagation
from controller.runtime.client.decoding import DeleteResult
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.errors import UnreachableError
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


class ConflictingWriteClient(Client):
    """A client whose first patch or delete comes just after a write by another client."""

    def __init__(self, client: Client, other_write: Callable[[], Awaitable[object]]) -> None:
        super().__init__(client.rest, "library-tests")
        self._other_write = other_write
        self.has_written = False

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        await self._write_first()
        return await super().patch(kind, key, body, subresource)

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
    ) -> DeleteResult[T]:
        await self._write_first()
        return await super().delete(kind, key, preconditions, propagation)

    async def _write_first(self) -> None:
        if not self.has_written:
            self.has_written = True
            await self._other_write()


class SimulatedCrashError(Exception):
    """The process has crashed: none of its later writes happens."""


class CrashPoint(StrEnum):
    """The part that a crash loses: the write, or only its response."""

    BEFORE = "before"
    AFTER = "after"


class CountingClient(Client):
    """A client that counts its writes."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.rest, "library-tests")
        self.writes = 0

    async def create(self, kind: Kind[T], body: Body) -> T:
        number = self.begin_write()
        created = await super().create(kind, body)
        self.end_write(number)
        return created

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        number = self.begin_write()
        changed = await super().patch(kind, key, body, subresource)
        self.end_write(number)
        return changed

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
    ) -> DeleteResult[T]:
        number = self.begin_write()
        deleted = await super().delete(kind, key, preconditions, propagation)
        self.end_write(number)
        return deleted

    def begin_write(self) -> int:
        """Return the number of a write that is about to be sent, from 1."""
        self.writes += 1
        return self.writes

    def end_write(self, number: int) -> None:
        """Do nothing after the response to the write of that number."""


class CrashingClient(CountingClient):
    """A client that crashes at one write: after it, nothing is sent."""

    def __init__(self, client: Client, crash_at_write: int, crash_point: CrashPoint) -> None:
        super().__init__(client)
        self._crash_at_write = crash_at_write
        self._crash_point = crash_point
        self.is_dead = False

    def begin_write(self) -> int:
        number = super().begin_write()
        self.is_dead |= number == self._crash_at_write and self._crash_point is CrashPoint.BEFORE
        if self.is_dead:
            raise SimulatedCrashError
        return number

    def end_write(self, number: int) -> None:
        self.is_dead |= number == self._crash_at_write
        if self.is_dead:
            raise SimulatedCrashError


class LostAnswerClient(CountingClient):
    """A client that loses the response of every nth write, which has taken effect."""

    def __init__(self, client: Client, every: int) -> None:
        super().__init__(client)
        self._every = every
        self.lost_answers = 0

    def end_write(self, number: int) -> None:
        if number % self._every == 0:
            self.lost_answers += 1
            raise UnreachableError("the response was lost")
