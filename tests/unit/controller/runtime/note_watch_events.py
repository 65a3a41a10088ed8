"""Notes as a server sends them: in objects, watch lines and lists, at given versions."""

from typing import Any

import msgspec

from controller.runtime.client.decoding import (
    INITIAL_EVENTS_END,
    Change,
    ObjectList,
    UndecodableObject,
)
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.key import ObjectKey
from tests.support.builders.note_resource import Note, NoteSpec


def new_note(name: str, version: int | str, uid: str = "", size: int = 0) -> Note:
    """Return a note of the namespace `ns`; its uid distinguishes two notes with one name."""
    meta = ObjectMeta(
        namespace="ns", name=name, uid=uid or f"uid-{name}", resource_version=str(version)
    )
    return Note(metadata=meta, spec=NoteSpec(size=size))


def note_key(name: str) -> ObjectKey:
    return ObjectKey("ns", name)


def listing(version: int | str, *notes: Note, continue_token: str = "") -> ObjectList[Note]:
    return ObjectList(list(notes), str(version), continue_token)


def put_change(note: Note) -> Change[Note]:
    return Change(note, is_deleted=False, is_added=False)


def deleted_change(name: str, version: int, uid: str = "") -> Change[Note]:
    """Return a delete as the watch sends it: the last state, with the version of the delete."""
    return Change(new_note(name, version, uid), is_deleted=True, is_added=False)


def undecodable(
    name: str, version: int, uid: str = "", *, is_deleted: bool = False
) -> UndecodableObject:
    return UndecodableObject(
        note_key(name), uid or f"uid-{name}", str(version), "not a number", is_deleted
    )


def watch_line(event_type: str, subject: Any) -> bytes:
    """Return one line of a watch."""
    return msgspec.json.encode({"type": event_type, "object": subject})


def added_line(name: str, version: int) -> bytes:
    return watch_line("ADDED", new_note(name, version))


def modified_line(name: str, version: int) -> bytes:
    return watch_line("MODIFIED", new_note(name, version))


def deleted_line(name: str, version: int) -> bytes:
    return watch_line("DELETED", new_note(name, version))


def undecodable_line(event_type: str, name: str, version: int) -> bytes:
    """Return the watch line of a note whose size is not a number."""
    meta = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return watch_line(event_type, {"metadata": meta, "spec": {"size": "large"}})


def bookmark_line(version: int | str, initial_events_end: str | None = None) -> bytes:
    annotations = {} if initial_events_end is None else {INITIAL_EVENTS_END: initial_events_end}
    meta = {"resourceVersion": str(version), "annotations": annotations}
    return watch_line("BOOKMARK", {"metadata": meta})


def error_line(code: int, reason: str = "") -> bytes:
    """Return the watch line of the error with which a server ends a watch."""
    return watch_line(
        "ERROR", {"kind": "Status", "code": code, "reason": reason, "message": "no more"}
    )
