"""A client that somebody else is always a moment ahead of."""

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
    """Just before its first patch or delete somebody else does something, once."""

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
    """The process is gone: whatever it does after this is not done."""


class CrashPoint(StrEnum):
    """What is lost when a client dies: the write, or the answer to it."""

    BEFORE = "before"
    AFTER = "after"


class CountingClient(Client):
    """Counts its writes."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.rest, "library-tests")
        self.writes = 0

    async def create(self, kind: Kind[T], body: Body) -> T:
        number = self.begin_write()
        made = await super().create(kind, body)
        self.end_write(number)
        return made

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
        """A write is about to be sent; its number, from 1."""
        self.writes += 1
        return self.writes

    def end_write(self, number: int) -> None:
        """The write of that number was answered."""


class CrashingClient(CountingClient):
    """Dies at the write of number `fatal`: from then on nothing more is sent."""

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
    """Does not hear the answer to every nth write, which has taken effect."""

    def __init__(self, client: Client, every: int) -> None:
        super().__init__(client)
        self._every = every
        self.lost_answers = 0

    def end_write(self, number: int) -> None:
        if number % self._every == 0:
            self.lost_answers += 1
            raise UnreachableError("the answer was lost")
