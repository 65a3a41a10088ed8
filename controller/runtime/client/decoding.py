"""From the server's bytes to typed objects, once, without a detour through dicts."""

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

# Some milliseconds of work.
YIELD_EVERY: Final = 200
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class UndecodableObject:
    """An object that the server has and the model cannot hold."""

    key: ObjectKey
    uid: str
    resource_version: str
    error: str
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class ObjectList(Generic[T]):
    """Objects, and the resourceVersion at which all of them were current."""

    items: list[T] = field(repr=False)
    resource_version: str
    continue_token: str = ""
    undecodable: tuple[UndecodableObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object that was added, changed (`gone` false) or deleted."""

    object: T
    is_deleted: bool
    is_added: bool


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to this resourceVersion was sent."""

    resource_version: str
    ends_initial_events: bool


@dataclass(frozen=True, slots=True)
class DeleteResult(Generic[T]):
    """What a delete left: None, or the object that waits for its finalizers or grace period."""

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
    """The decoders of one kind, made once."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind
        self._object_decoder = msgspec.json.Decoder(kind.model)
        self._page_decoder = msgspec.json.Decoder(_Page)
        self._watch_event_decoder = msgspec.json.Decoder(_WatchEvent)
        self._partial_decoder = msgspec.json.Decoder(_PartialObject)
        self._interner = Interner(kind.model)

    def decode_object(self, body: bytes | msgspec.Raw) -> T:
        """One object; UnreadableError where the model cannot hold it."""
        try:
            return self._interner(self._object_decoder.decode(body))
        except DECODE_ERRORS as error:
            raise UndecodableError(f"an object of {self._kind} cannot be read: {error}") from error

    async def decode_list(self, body: bytes) -> ObjectList[T]:
        """A list; objects that the model cannot hold are told apart and do not spoil the rest.

        Cut into items first: what one item leaves over serves the next, and the loop gets turns.
        """
        try:
            page = self._page_decoder.decode(body)
        except DECODE_ERRORS as error:
            raise UndecodableError(f"a list of {self._kind} cannot be read: {error}") from error
        items: list[T] = []
        unreadable: list[UndecodableObject] = []
        for number, raw in enumerate(page.items or ()):
            try:
                items.append(self._interner(self._object_decoder.decode(raw)))
            except DECODE_ERRORS as error:
                unreadable.append(self._undecodable_object(raw, str(error)))
            if number % YIELD_EVERY == YIELD_EVERY - 1:
                await asyncio.sleep(0)
        meta = page.metadata
        return ObjectList(items, meta.resource_version, meta.continue_token, tuple(unreadable))

    def decode_watch_event(self, line: bytes) -> Change[T] | Bookmark | Status | UndecodableObject:
        """One line of a watch; a Status is the error that ends it."""
        try:
            envelope = self._watch_event_decoder.decode(line)
            if envelope.type == "ERROR":
                return msgspec.json.decode(envelope.object, type=Status)
            if envelope.type == "BOOKMARK":
                return self._decode_bookmark(envelope.object)
        except DECODE_ERRORS as error:
            raise UndecodableError(f"a watch of {self._kind} cannot be read: {error}") from error
        gone = envelope.type == "DELETED"
        try:
            found = self._interner(self._object_decoder.decode(envelope.object))
        except DECODE_ERRORS as error:
            return self._undecodable_object(envelope.object, str(error), is_deleted=gone)
        if not (found.metadata.name and found.metadata.resource_version):
            return self._undecodable_object(
                envelope.object, "no name or no resourceVersion", is_deleted=gone
            )
        return Change(found, gone, envelope.type == "ADDED")

    def _decode_bookmark(self, raw: msgspec.Raw) -> Bookmark:
        meta = self._partial_decoder.decode(raw).metadata
        ends = meta.annotations.get(INITIAL_EVENTS_END) == "true"
        return Bookmark(meta.resource_version, ends)

    def decode_delete_result(self, body: bytes) -> DeleteResult[T]:
        """The answer to a delete: a Status, or the object; some kinds are shown though gone."""
        try:
            answer = msgspec.json.decode(body, type=_DeleteResponse)
            if answer.kind == "Status":
                return DeleteResult(
                    None, msgspec.json.decode(answer.details, type=_StatusDetails).uid
                )
        except DECODE_ERRORS as error:
            raise UndecodableError(
                f"the answer to a delete of {self._kind} cannot be read: {error}"
            ) from error
        held = answer.metadata
        waits = held.finalizers or held.deletion_grace_period_seconds
        return DeleteResult(self.decode_object(body) if waits else None, held.uid)

    def _undecodable_object(
        self, raw: msgspec.Raw, error: str, *, is_deleted: bool = False
    ) -> UndecodableObject:
        try:
            meta = self._partial_decoder.decode(raw).metadata
        except DECODE_ERRORS:
            meta = _PartialMeta()
        key = ObjectKey(meta.namespace, meta.name)
        return UndecodableObject(key, meta.uid, meta.resource_version, error, is_deleted)
