"""Tests of decoding: the server's bytes become objects; undecodable bytes become errors."""

from typing import Any

import msgspec
import pytest

from controller.runtime.client.decoding import (
    Bookmark,
    Change,
    Decoder,
    DeleteResult,
    UndecodableObject,
)
from controller.runtime.errors import Status, UndecodableError
from controller.runtime.key import ObjectKey
from tests.support.builders.note_resource import NOTES, Note
from tests.unit.controller.runtime.note_watch_events import (
    added_line,
    bookmark_line,
    deleted_line,
    error_line,
    modified_line,
    new_note,
    undecodable_line,
    watch_line,
)

TOO_DEEP = b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.fixture
def decoder() -> Decoder[Note]:
    return Decoder(NOTES)


def a_page(**parts: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": "10"}, **parts})


def a_bad_note(name: str, version: int) -> dict[str, Any]:
    meta = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {"size": "large"}}


# Events.


@pytest.mark.parametrize(
    ("told", "gone", "is_added"),
    [
        (added_line("a", 1), False, True),
        (modified_line("a", 1), False, False),
        (deleted_line("a", 1), True, False),
    ],
    ids=["added", "modified", "deleted"],
)
def test_an_event_of_an_object_is_a_change(
    decoder: Decoder[Note], told: bytes, gone: bool, is_added: bool
) -> None:
    assert decoder.decode_watch_event(told) == Change(
        new_note("a", 1), is_deleted=gone, is_added=is_added
    )


def test_fields_that_the_model_does_not_know_are_ignored(decoder: Decoder[Note]) -> None:
    body = {"apiVersion": "v9", "spec": {"size": 4, "colour": "red"}, "extra": [1, {"x": None}]}
    meta = {"name": "a", "resourceVersion": "1", "managedFields": [{"manager": "someone"}]}
    found = decoder.decode_object(msgspec.json.encode({**body, "metadata": meta}))
    assert (found.metadata.name, found.spec.size) == ("a", 4)


def test_an_error_event_is_the_servers_status(decoder: Decoder[Note]) -> None:
    found = decoder.decode_watch_event(error_line(410, "Expired"))
    assert isinstance(found, Status)
    assert (found.code, found.reason) == (410, "Expired")


@pytest.mark.parametrize(
    ("annotation", "ends"),
    [(None, False), ("true", True), ("false", False), ("True", False), ("", False)],
)
def test_only_the_word_true_ends_the_initial_events(
    decoder: Decoder[Note], annotation: str | None, ends: bool
) -> None:
    assert decoder.decode_watch_event(bookmark_line(7, annotation)) == Bookmark("7", ends)


@pytest.mark.parametrize(("kind", "gone"), [("ADDED", False), ("DELETED", True)])
def test_an_undecodable_object_is_reported_with_its_identity(
    decoder: Decoder[Note], kind: str, gone: bool
) -> None:
    found = decoder.decode_watch_event(undecodable_line(kind, "a", 5))
    assert isinstance(found, UndecodableObject)
    assert (found.key, found.uid, found.resource_version) == (ObjectKey("ns", "a"), "uid-a", "5")
    assert (found.is_deleted, "spec.size" in found.error) == (gone, True)


@pytest.mark.parametrize("subject", [{}, {"metadata": {}}, {"metadata": 7}, {"metadata": None}, 7])
def test_an_event_without_usable_metadata_is_unreadable_and_nameless(
    decoder: Decoder[Note], subject: object
) -> None:
    found = decoder.decode_watch_event(watch_line("ADDED", subject))
    assert isinstance(found, UndecodableObject)
    assert (found.key, found.resource_version) == (ObjectKey("", ""), "")


@pytest.mark.parametrize("missing", ["name", "resourceVersion"])
def test_an_object_that_cannot_be_kept_or_resumed_from_is_unreadable(
    decoder: Decoder[Note], missing: str
) -> None:
    meta = {"namespace": "ns", "name": "a", "resourceVersion": "5"}
    del meta[missing]
    assert isinstance(
        decoder.decode_watch_event(watch_line("ADDED", {"metadata": meta})), UndecodableObject
    )


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"null",
        b"{}",
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":{"me',
        watch_line("RENAMED", new_note("a", 1)),
        watch_line("ERROR", "text"),
        watch_line("BOOKMARK", {"metadata": {"resourceVersion": 7}}),
        b'{"type":"\xff","object":{}}',
        b'{"type":"ADDED","object":' + TOO_DEEP + b"}",
    ],
)
def test_a_line_that_is_no_event_cannot_be_read(decoder: Decoder[Note], bad: bytes) -> None:
    with pytest.raises(UndecodableError, match=r"a watch of notes\.tests\.local cannot be decoded"):
        decoder.decode_watch_event(bad)


def test_a_text_that_is_not_utf8_spoils_only_its_object(decoder: Decoder[Note]) -> None:
    bad = a_bad_note("a", 5)
    bad["metadata"]["creationTimestamp"] = "?"
    found = decoder.decode_watch_event(watch_line("ADDED", bad).replace(b"?", b"\xff"))
    assert isinstance(found, UndecodableObject)
    assert found.key == ObjectKey("ns", "a")


# Lists.


async def test_a_list_has_its_version_and_the_token_of_its_next_page(
    decoder: Decoder[Note],
) -> None:
    meta = {"resourceVersion": "10", "continue": "more", "remainingItemCount": 3}
    found = await decoder.decode_list(
        a_page(metadata=meta, items=[new_note("a", 1), new_note("b", 2)])
    )
    assert (found.resource_version, found.continue_token) == ("10", "more")
    assert found.items == [new_note("a", 1), new_note("b", 2)]


@pytest.mark.parametrize("parts", [{}, {"items": None}, {"items": []}])
async def test_a_list_of_nothing_is_empty(decoder: Decoder[Note], parts: dict[str, Any]) -> None:
    assert (await decoder.decode_list(a_page(**parts))).items == []


async def test_an_object_that_the_model_cannot_hold_does_not_spoil_its_list(
    decoder: Decoder[Note],
) -> None:
    meta = {"resourceVersion": "10", "continue": "more"}
    items = [new_note("a", 1), a_bad_note("b", 2), new_note("c", 3), a_bad_note("d", 4)]
    found = await decoder.decode_list(a_page(metadata=meta, items=items))
    assert [note.metadata.name for note in found.items] == ["a", "c"]
    assert [(lost.key.name, lost.uid, lost.is_deleted) for lost in found.undecodable] == [
        ("b", "uid-b", False),
        ("d", "uid-d", False),
    ]
    assert (found.resource_version, found.continue_token) == ("10", "more")


async def test_a_text_that_is_not_utf8_does_not_spoil_its_list(decoder: Decoder[Note]) -> None:
    body = a_page(items=[new_note("a", 1), new_note("b?", 2)]).replace(b"?", b"\xff")
    found = await decoder.decode_list(body)
    assert (len(found.items), len(found.undecodable)) == (1, 1)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"<html></html>",
        b"[]",
        b"{}",
        a_page(items=3),
        a_page(metadata=None),
        a_page(metadata={"resourceVersion": 10}),
        TOO_DEEP,
    ],
)
async def test_an_answer_that_is_no_list_cannot_be_read(decoder: Decoder[Note], bad: bytes) -> None:
    with pytest.raises(UndecodableError, match=r"a list of notes\.tests\.local cannot be decoded"):
        await decoder.decode_list(bad)


# Single objects.


@pytest.mark.parametrize(
    "bad", [b"", b"{}", msgspec.json.encode(a_bad_note("a", 1)), b'{"metadata":{"name":"\xff"}}']
)
def test_an_answer_that_is_no_object_cannot_be_read(decoder: Decoder[Note], bad: bytes) -> None:
    with pytest.raises(
        UndecodableError, match=r"an object of notes\.tests\.local cannot be decoded"
    ):
        decoder.decode_object(bad)


# Responses to deletes.


def an_answer(**meta: object) -> bytes:
    identity = {"namespace": "ns", "name": "a", "uid": "uid-a", "resourceVersion": "9"}
    return msgspec.json.encode({"kind": "Note", "metadata": {**identity, **meta}})


def test_a_status_says_that_the_object_is_gone(decoder: Decoder[Note]) -> None:
    status = {"kind": "Status", "status": "Success", "details": {"name": "a", "uid": "uid-a"}}
    assert decoder.decode_delete_result(msgspec.json.encode(status)) == DeleteResult(None, "uid-a")


@pytest.mark.parametrize(
    "meta",
    [
        {"finalizers": ["example.org/hold"], "deletionGracePeriodSeconds": 0},
        {"finalizers": ["foregroundDeletion"]},
        {"deletionGracePeriodSeconds": 30},
    ],
    ids=["finalizer", "dependents first", "grace period"],
)
def test_an_object_that_has_to_wait_remains(decoder: Decoder[Note], meta: dict[str, Any]) -> None:
    body = an_answer(deletionTimestamp="2026-11-16T00:00:00Z", **meta)
    assert decoder.decode_delete_result(body) == DeleteResult(decoder.decode_object(body), "uid-a")


@pytest.mark.parametrize(
    "meta",
    [{}, {"deletionTimestamp": "2026-11-16T00:00:00Z", "deletionGracePeriodSeconds": 0}],
    ids=["never waited", "waited no time"],
)
def test_an_object_that_nothing_holds_is_gone_though_the_server_shows_it_once_more(
    decoder: Decoder[Note], meta: dict[str, Any]
) -> None:
    """Check the response that the server gives for pods, volumes and service accounts."""
    assert decoder.decode_delete_result(an_answer(**meta)) == DeleteResult(None, "uid-a")


@pytest.mark.parametrize("bad", [b"", b"[]", b'{"kind":7}', b'{"kind":"Status","details":3}'])
def test_an_answer_to_a_delete_that_is_neither_cannot_be_read(
    decoder: Decoder[Note], bad: bytes
) -> None:
    with pytest.raises(UndecodableError):
        decoder.decode_delete_result(bad)
