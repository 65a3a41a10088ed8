"""Decodes the server's JSON into typed objects, without intermediate dicts."""

import asyncio
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

import msgspec

from controller.runtime.client.interning import Interner
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.errors import DECODE_ERRORS, Status, UndecodableError
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

# Other tasks run after this many objects: some milliseconds of work.
YIELD_EVERY: Final = 200
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class UndecodableObject:
    """An object of the server that does not match the model."""

    key: ObjectKey
    uid: str
    resource_version: str
    error: str
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class ObjectList(Generic[T]):
    """Objects, and the resourceVersion at which they were current."""

    items: list[T] = field(repr=False)
    resource_version: str
    continue_token: str = ""
    undecodable: tuple[UndecodableObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """A watch event: an object was added, modified or deleted."""

    object: T
    is_deleted: bool
    is_added: bool


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A watch event: all changes up to this resourceVersion were sent."""

    resource_version: str
    ends_initial_events: bool


@dataclass(frozen=True, slots=True)
class DeleteResult(Generic[T]):
    """The result of a delete; `remaining` is an object that is still terminating, or None."""

    remaining: T | None
    uid: str


class _ListMeta(
    msgspec.Struct, rename={"resource_version": "resourceVersion", "continue_token": "continue"}
):
    resource_version: str = ""
    continue_token: str = ""


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _WatchEvent(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _PartialMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _StatusDetails(msgspec.Struct):
    uid: str = ""


class _RemainingMeta(msgspec.Struct, rename="camel"):
    uid: str = ""
    finalizers: tuple[str, ...] = ()
    deletion_grace_period_seconds: int | None = None


class _DeleteResponse(msgspec.Struct):
    kind: str = ""
    metadata: _RemainingMeta = msgspec.field(default_factory=_RemainingMeta)
    details: msgspec.Raw = msgspec.Raw(b"{}")


class _PartialObject(msgspec.Struct):
    metadata: _PartialMeta = msgspec.field(default_factory=_PartialMeta)


class Decoder(Generic[T]):
    """Decodes the objects, lists and watch events of one kind."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind
        self._object_decoder = msgspec.json.Decoder(kind.model)
        self._page_decoder = msgspec.json.Decoder(_Page)
        self._watch_event_decoder = msgspec.json.Decoder(_WatchEvent)
        self._partial_decoder = msgspec.json.Decoder(_PartialObject)
        self._interner = Interner(kind.model)

    def decode_object(self, body: bytes | msgspec.Raw) -> T:
        """Decode one object; UndecodableError if it does not match the model."""
        try:
            return self._interner(self._object_decoder.decode(body))
        except DECODE_ERRORS as error:
            raise UndecodableError(
                f"an object of {self._kind} cannot be decoded: {error}"
            ) from error

    async def decode_list(self, body: bytes) -> ObjectList[T]:
        """Decode a list; objects that do not match the model are returned separately.

        The list is cut into items first: an item reuses the memory of the last one, and other tasks
        can run in between.
        """
        try:
            page = self._page_decoder.decode(body)
        except DECODE_ERRORS as error:
            raise UndecodableError(f"a list of {self._kind} cannot be decoded: {error}") from error
        items: list[T] = []
        undecodable: list[UndecodableObject] = []
        for number, raw in enumerate(page.items or ()):
            try:
                items.append(self._interner(self._object_decoder.decode(raw)))
            except DECODE_ERRORS as error:
                undecodable.append(self._undecodable_object(raw, str(error)))
            if number % YIELD_EVERY == YIELD_EVERY - 1:
                await asyncio.sleep(0)
        meta = page.metadata
        return ObjectList(items, meta.resource_version, meta.continue_token, tuple(undecodable))

    def decode_watch_event(self, line: bytes) -> Change[T] | Bookmark | Status | UndecodableObject:
        """Decode one line of a watch; a Status is the error that ends it."""
        try:
            event = self._watch_event_decoder.decode(line)
            if event.type == "ERROR":
                return msgspec.json.decode(event.object, type=Status)
            if event.type == "BOOKMARK":
                return self._decode_bookmark(event.object)
        except DECODE_ERRORS as error:
            raise UndecodableError(f"a watch of {self._kind} cannot be decoded: {error}") from error
        is_deleted = event.type == "DELETED"
        try:
            subject = self._interner(self._object_decoder.decode(event.object))
        except DECODE_ERRORS as error:
            return self._undecodable_object(event.object, str(error), is_deleted=is_deleted)
        if not (subject.metadata.name and subject.metadata.resource_version):
            return self._undecodable_object(
                event.object, "no name or no resourceVersion", is_deleted=is_deleted
            )
        return Change(subject, is_deleted, event.type == "ADDED")

    def _decode_bookmark(self, raw: msgspec.Raw) -> Bookmark:
        meta = self._partial_decoder.decode(raw).metadata
        ends_initial_events = meta.annotations.get(INITIAL_EVENTS_END) == "true"
        return Bookmark(meta.resource_version, ends_initial_events)

    def decode_delete_result(self, body: bytes) -> DeleteResult[T]:
        """Decode the response to a delete: a Status, or an object, which may be deleted too."""
        try:
            response = msgspec.json.decode(body, type=_DeleteResponse)
            if response.kind == "Status":
                return DeleteResult(
                    None, msgspec.json.decode(response.details, type=_StatusDetails).uid
                )
        except DECODE_ERRORS as error:
            raise UndecodableError(
                f"the response to a delete of {self._kind} cannot be decoded: {error}"
            ) from error
        meta = response.metadata
        remains = meta.finalizers or meta.deletion_grace_period_seconds
        return DeleteResult(self.decode_object(body) if remains else None, meta.uid)

    def _undecodable_object(
        self, raw: msgspec.Raw, error: str, *, is_deleted: bool = False
    ) -> UndecodableObject:
        try:
            meta = self._partial_decoder.decode(raw).metadata
        except DECODE_ERRORS:
            meta = _PartialMeta()
        key = ObjectKey(meta.namespace, meta.name)
        return UndecodableObject(key, meta.uid, meta.resource_version, error, is_deleted)
