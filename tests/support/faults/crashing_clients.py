"""Clients whose writes go wrong at a chosen moment, on a real server."""

from enum import StrEnum
from typing import TypeVar

from controller.runtime.client.client import Body, Client, Condition, Propagation
from controller.runtime.client.decoding import Deleted
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.errors import UnreachableError
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


class CrashError(Exception):
    """The process is gone: whatever it does after this is not done."""


class Moment(StrEnum):
    """What is lost when a client dies: the write, or the answer to it."""

    BEFORE = "before"
    AFTER = "after"


class CountingClient(Client):
    """Counts its writes."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.rest, "library-tests")
        self.writes = 0

    async def create(self, kind: Kind[T], body: Body) -> T:
        number = self.begin()
        made = await super().create(kind, body)
        self.end(number)
        return made

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        number = self.begin()
        changed = await super().patch(kind, key, body, subresource)
        self.end(number)
        return changed

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        condition: Condition | None = None,
        propagation: Propagation = "Background",
    ) -> Deleted[T]:
        number = self.begin()
        deleted = await super().delete(kind, key, condition, propagation)
        self.end(number)
        return deleted

    def begin(self) -> int:
        """A write is about to be sent; its number, from 1."""
        self.writes += 1
        return self.writes

    def end(self, number: int) -> None:
        """The write of that number was answered."""


class MortalClient(CountingClient):
    """Dies at the write of number `fatal`: from then on nothing more is sent."""

    def __init__(self, client: Client, fatal: int, moment: Moment) -> None:
        super().__init__(client)
        self._fatal = fatal
        self._moment = moment
        self.is_dead = False

    def begin(self) -> int:
        number = super().begin()
        self.is_dead |= number == self._fatal and self._moment is Moment.BEFORE
        if self.is_dead:
            raise CrashError
        return number

    def end(self, number: int) -> None:
        self.is_dead |= number == self._fatal
        if self.is_dead:
            raise CrashError


class DeafClient(CountingClient):
    """Does not hear the answer to every nth write, which has taken effect."""

    def __init__(self, client: Client, every: int) -> None:
        super().__init__(client)
        self._every = every
        self.lost = 0

    def end(self, number: int) -> None:
        if number % self._every == 0:
            self.lost += 1
            raise UnreachableError("the answer was lost")
