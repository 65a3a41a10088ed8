"""Notes as a server tells of them: objects, lines of a watch and lists, at chosen versions."""

from typing import Any

import msgspec

from controller.runtime.client.decoding import INITIAL_EVENTS_END, Change, Listing, Unreadable
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.key import ObjectKey
from tests.support.builders.note_resource import Note, NoteSpec


def a_note(name: str, version: int | str, uid: str = "", size: int = 0) -> Note:
    """A note of the namespace `ns`; its uid tells two of one name apart."""
    meta = ObjectMeta(
        namespace="ns", name=name, uid=uid or f"uid-{name}", resource_version=str(version)
    )
    return Note(metadata=meta, spec=NoteSpec(size=size))


def key(name: str) -> ObjectKey:
    return ObjectKey("ns", name)


def listing(version: int | str, *notes: Note, go_on: str = "") -> Listing[Note]:
    return Listing(list(notes), str(version), go_on)


def put(note: Note) -> Change[Note]:
    return Change(note, gone=False, added=False)


def gone(name: str, version: int, uid: str = "") -> Change[Note]:
    """A delete as the watch tells it: the last state, with the version of the delete."""
    return Change(a_note(name, version, uid), gone=True, added=False)


def unreadable(name: str, version: int, uid: str = "", *, gone: bool = False) -> Unreadable:
    return Unreadable(key(name), uid or f"uid-{name}", str(version), "not a number", gone)


def line(kind: str, subject: Any) -> bytes:
    """One line of a watch."""
    return msgspec.json.encode({"type": kind, "object": subject})


def added(name: str, version: int) -> bytes:
    return line("ADDED", a_note(name, version))


def modified(name: str, version: int) -> bytes:
    return line("MODIFIED", a_note(name, version))


def deleted(name: str, version: int) -> bytes:
    return line("DELETED", a_note(name, version))


def broken(kind: str, name: str, version: int) -> bytes:
    """An event of a note whose size is no number."""
    meta = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return line(kind, {"metadata": meta, "spec": {"size": "large"}})


def bookmark(version: int | str, initial_events_end: str | None = None) -> bytes:
    annotations = {} if initial_events_end is None else {INITIAL_EVENTS_END: initial_events_end}
    meta = {"resourceVersion": str(version), "annotations": annotations}
    return line("BOOKMARK", {"metadata": meta})


def failure(code: int, reason: str = "") -> bytes:
    """The event with which a server ends a watch."""
    return line("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": "no more"})
