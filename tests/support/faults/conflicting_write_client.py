"""A client that somebody else is always a moment ahead of."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from controller.runtime.client.client import Body, Client, Preconditions, Propagation
from controller.runtime.client.decoding import DeleteResult
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
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
