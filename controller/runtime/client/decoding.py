"""From the server's bytes to typed objects, once, without a detour through dicts."""

import asyncio
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

import msgspec

from controller.runtime.client.interning import Sharing
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.errors import UNDECODABLE, Status, UnreadableError
from controller.runtime.key import ObjectKey

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
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _Identity(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _Details(msgspec.Struct):
    uid: str = ""


class _Held(msgspec.Struct, rename="camel"):
    uid: str = ""
    finalizers: tuple[str, ...] = ()
    deletion_grace_period_seconds: int | None = None


class _DeleteAnswer(msgspec.Struct):
    kind: str = ""
    metadata: _Held = msgspec.field(default_factory=_Held)
    details: msgspec.Raw = msgspec.Raw(b"{}")


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
        except UNDECODABLE as error:
            raise UnreadableError(f"an object of {self._kind} cannot be read: {error}") from error

    async def listing(self, body: bytes) -> Listing[T]:
        """A list; objects that the model cannot hold are told apart and do not spoil the rest.

        Cut into items first: what one item leaves over serves the next, and the loop gets turns.
        """
        try:
            page = self._page.decode(body)
        except UNDECODABLE as error:
            raise UnreadableError(f"a list of {self._kind} cannot be read: {error}") from error
        items: list[T] = []
        unreadable: list[Unreadable] = []
        for number, raw in enumerate(page.items or ()):
            try:
                items.append(self._share(self._object.decode(raw)))
            except UNDECODABLE as error:
                unreadable.append(self._unreadable(raw, str(error)))
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
        except UNDECODABLE as error:
            raise UnreadableError(f"a watch of {self._kind} cannot be read: {error}") from error
        gone = envelope.type == "DELETED"
        try:
            found = self._share(self._object.decode(envelope.object))
        except UNDECODABLE as error:
            return self._unreadable(envelope.object, str(error), gone=gone)
        if not (found.metadata.name and found.metadata.resource_version):
            return self._unreadable(envelope.object, "no name or no resourceVersion", gone=gone)
        return Change(found, gone, envelope.type == "ADDED")

    def _bookmark(self, raw: msgspec.Raw) -> Bookmark:
        meta = self._identified.decode(raw).metadata
        ends = meta.annotations.get(INITIAL_EVENTS_END) == "true"
        return Bookmark(meta.resource_version, ends)

    def deleted(self, body: bytes) -> Deleted[T]:
        """The answer to a delete: a Status, or the object; some kinds are shown though gone."""
        try:
            answer = msgspec.json.decode(body, type=_DeleteAnswer)
            if answer.kind == "Status":
                return Deleted(None, msgspec.json.decode(answer.details, type=_Details).uid)
        except UNDECODABLE as error:
            raise UnreadableError(
                f"the answer to a delete of {self._kind} cannot be read: {error}"
            ) from error
        held = answer.metadata
        waits = held.finalizers or held.deletion_grace_period_seconds
        return Deleted(self.object(body) if waits else None, held.uid)

    def _unreadable(self, raw: msgspec.Raw, error: str, *, gone: bool = False) -> Unreadable:
        try:
            meta = self._identified.decode(raw).metadata
        except UNDECODABLE:
            meta = _Identity()
        key = ObjectKey(meta.namespace, meta.name)
        return Unreadable(key, meta.uid, meta.resource_version, error, gone)
