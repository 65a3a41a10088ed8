"""Writes that the caches show at once: a reader after a write never sees what was before it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from controller.runtime.cache.informer import Informer
from controller.runtime.client.client import Body, Client, Preconditions, Propagation
from controller.runtime.client.decoding import DeleteResult
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


class Writer:
    """The client's writing verbs; each answer goes into the informer of its kind, if there is one.

    A write whose answer was lost is not covered: it raises, and the next reconcile sees it late.
    `fence` is asked before each write and raises where this process may no longer write: a
    leader's is its elector's.
    """

    def __init__(
        self,
        client: Client,
        informers: Sequence[Informer[Any]],
        fence: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._informers = informers
        self._fence = fence

    async def create(self, kind: Kind[T], body: Body) -> T:
        """Make a new object; AlreadyExistsError where the name is taken."""
        self._fence()
        return self._observe(kind, await self._client.create(kind, body))

    async def create_dry_run(self, kind: Kind[T], body: Body) -> None:
        """Fail as `create` would, and make nothing."""
        await self._client.create_dry_run(kind, body)

    async def apply(
        self, kind: Kind[T], body: Body, subresource: str = "", *, force: bool = True
    ) -> T:
        """Server-side apply of exactly the fields in `body`; with force also over others'."""
        self._fence()
        return self._observe(kind, await self._client.apply(kind, body, subresource, force=force))

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        """Merge `body` in; with a resourceVersion in its metadata only if that is still current."""
        self._fence()
        return self._observe(kind, await self._client.patch(kind, key, body, subresource))

    async def patch_status(self, kind: Kind[T], key: ObjectKey, status: Body) -> T:
        """Merge `status` into the object's status subresource."""
        self._fence()
        return self._observe(kind, await self._client.patch_status(kind, key, status))

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
    ) -> DeleteResult[T]:
        """Ask for its deletion; ConflictError where `condition` no longer holds."""
        self._fence()
        deleted = await self._client.delete(kind, key, preconditions, propagation)
        if deleted.remaining is not None:
            self._observe(kind, deleted.remaining)
        else:
            for informer in self._responsible_informers(kind, key.namespace):
                informer.observe_delete(key, deleted.uid)
        return deleted

    def _observe(self, kind: Kind[T], written: T) -> T:
        for informer in self._responsible_informers(kind, written.metadata.namespace):
            informer.observe_write(written)
        return written

    def _responsible_informers(self, kind: Kind[T], namespace: str) -> list[Informer[T]]:
        return [each for each in self._informers if each.is_responsible_for(kind, namespace)]
