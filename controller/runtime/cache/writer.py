"""Writes whose results enter the caches at once: a later read never shows an older state."""

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
    """The writing verbs of the client; each result enters the informers of its kind.

    A write whose response is lost raises; the caches show it when the watch reports it. `fence` is
    called before each write, and raises if this process may not write: see LeaderElector.fence.
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
        """Create an object; AlreadyExistsError if the name is in use."""
        self._fence()
        return self._observe(kind, await self._client.create(kind, body))

    async def create_dry_run(self, kind: Kind[T], body: Body) -> None:
        """Raise what `create` would raise, without creating the object."""
        await self._client.create_dry_run(kind, body)

    async def apply(
        self, kind: Kind[T], body: Body, subresource: str = "", *, force: bool = True
    ) -> T:
        """Apply the fields of `body` on the server; with `force` also those that others own."""
        self._fence()
        return self._observe(kind, await self._client.apply(kind, body, subresource, force=force))

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        """Apply a merge patch; with a resourceVersion in its metadata, only to that version."""
        self._fence()
        return self._observe(kind, await self._client.patch(kind, key, body, subresource))

    async def patch_status(self, kind: Kind[T], key: ObjectKey, status: Body) -> T:
        """Apply a merge patch to the status subresource."""
        self._fence()
        return self._observe(kind, await self._client.patch_status(kind, key, status))

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
    ) -> DeleteResult[T]:
        """Delete an object; ConflictError if a precondition fails."""
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
        return [
            informer for informer in self._informers if informer.is_responsible_for(kind, namespace)
        ]
