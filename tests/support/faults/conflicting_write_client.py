"""A client that somebody else is always a moment ahead of."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from controller.runtime.client.client import Body, Client, Condition, Propagation
from controller.runtime.client.decoding import Deleted
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


class OvertakenClient(Client):
    """Just before its first patch or delete somebody else does something, once."""

    def __init__(self, client: Client, do: Callable[[], Awaitable[object]]) -> None:
        super().__init__(client.rest, "library-tests")
        self._do = do
        self.is_overtaken = False

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        await self._let_pass()
        return await super().patch(kind, key, body, subresource)

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        condition: Condition | None = None,
        propagation: Propagation = "Background",
    ) -> Deleted[T]:
        await self._let_pass()
        return await super().delete(kind, key, condition, propagation)

    async def _let_pass(self) -> None:
        if not self.is_overtaken:
            self.is_overtaken = True
            await self._do()
