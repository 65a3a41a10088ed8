"""From the server's bytes to typed objects, once, without a detour through dicts."""

import asyncio
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import msgspec

from controller.runtime.errors import Status, UnreadableError
from controller.runtime.key import ObjectKey
from controller.runtime.kind import Kind
from controller.runtime.objects import Object
from controller.runtime.sharing import Sharing

T = TypeVar("T", bound=Object)

# Some milliseconds of work.
IN_ONE_GO: Final = 200
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that the server has and the model cannot hold."""

    key: ObjectKey
    uid: str
    resource_version: str
    error: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Objects, and the resourceVersion at which all of them were current."""

    items: list[T] = field(repr=False)
    resource_version: str
    go_on: str = ""
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object that was added, changed (`gone` false) or deleted."""

    object: T
    gone: bool
    added: bool


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to this resourceVersion was sent."""

    resource_version: str
    ends_initial_events: bool


@dataclass(frozen=True, slots=True)
class Deleted(Generic[T]):
    """What a delete left: None, or the object that waits for its finalizers or grace period."""

    remaining: T | None
    uid: str


class _ListMeta(
    msgspec.Struct, rename={"resource_version": "resourceVersion", "go_on": "continue"}
):
    resource_version: str = ""
    go_on: str = ""


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Envelope(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Identity(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _Details(msgspec.Struct):
    uid: str = ""


class _DeleteAnswer(msgspec.Struct):
    kind: str = ""
    details: _Details = msgspec.field(default_factory=_Details)


class _Identified(msgspec.Struct):
    metadata: _Identity = msgspec.field(default_factory=_Identity)


class Decoder(Generic[T]):
    """The decoders of one kind, made once."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind
        self._object = msgspec.json.Decoder(kind.model)
        self._page = msgspec.json.Decoder(_Page)
        self._envelope = msgspec.json.Decoder(_Envelope)
        self._identified = msgspec.json.Decoder(_Identified)
        self._share = Sharing(kind.model)

    def object(self, body: bytes | msgspec.Raw) -> T:
        """One object; UnreadableError where the model cannot hold it."""
        try:
            return self._share(self._object.decode(body))
        except msgspec.DecodeError as error:
            raise UnreadableError(f"an object of {self._kind} cannot be read: {error}") from error

    async def listing(self, body: bytes) -> Listing[T]:
        """A list; objects that the model cannot hold are told apart and do not spoil the rest.

        Cut into items first: what one item leaves over serves the next, and the loop gets turns.
        """
        try:
            page = self._page.decode(body)
        except msgspec.DecodeError as error:
            raise UnreadableError(f"a list of {self._kind} cannot be read: {error}") from error
        items: list[T] = []
        unreadable: list[Unreadable] = []
        for number, raw in enumerate(page.items or ()):
            try:
                items.append(self._share(self._object.decode(raw)))
            except msgspec.DecodeError as error:
                unreadable.append(self._unreadable(raw, error))
            if number % IN_ONE_GO == IN_ONE_GO - 1:
                await asyncio.sleep(0)
        meta = page.metadata
        return Listing(items, meta.resource_version, meta.go_on, tuple(unreadable))

    def event(self, line: bytes) -> Change[T] | Bookmark | Status | Unreadable:
        """One line of a watch; a Status is the error that ends it."""
        try:
            envelope = self._envelope.decode(line)
            if envelope.type == "ERROR":
                return msgspec.json.decode(envelope.object, type=Status)
            if envelope.type == "BOOKMARK":
                return self._bookmark(envelope.object)
        except msgspec.DecodeError as error:
            raise UnreadableError(f"a watch of {self._kind} cannot be read: {error}") from error
        try:
            found = self._share(self._object.decode(envelope.object))
        except msgspec.DecodeError as error:
            return self._unreadable(envelope.object, error, gone=envelope.type == "DELETED")
        return Change(found, envelope.type == "DELETED", envelope.type == "ADDED")

    def _bookmark(self, raw: msgspec.Raw) -> Bookmark:
        meta = self._identified.decode(raw).metadata
        ends = meta.annotations.get(INITIAL_EVENTS_END) == "true"
        return Bookmark(meta.resource_version, ends)

    def deleted(self, body: bytes) -> Deleted[T]:
        """The answer to a delete: a Status when the object is gone, itself when it has to wait."""
        answer = msgspec.json.decode(body, type=_DeleteAnswer)
        if answer.kind == "Status":
            return Deleted(None, answer.details.uid)
        waiting = self.object(body)
        return Deleted(waiting, waiting.metadata.uid)

    def _unreadable(self, raw: msgspec.Raw, error: Exception, *, gone: bool = False) -> Unreadable:
        try:
            meta = self._identified.decode(raw).metadata
        except msgspec.DecodeError:
            meta = _Identity()
        key = ObjectKey(meta.namespace, meta.name)
        return Unreadable(key, meta.uid, meta.resource_version, str(error), gone)
