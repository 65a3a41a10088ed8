"""Tests of decoding: the server's bytes become objects or errors."""

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


def new_page(**parts: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": "10"}, **parts})


def undecodable_note(name: str, version: int) -> dict[str, Any]:
    meta = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {"size": "large"}}


# Events.


@pytest.mark.parametrize(
    ("line", "is_deleted", "is_added"),
    [
        (added_line("a", 1), False, True),
        (modified_line("a", 1), False, False),
        (deleted_line("a", 1), True, False),
    ],
    ids=["added", "modified", "deleted"],
)
def test_an_event_of_an_object_is_a_change(
    decoder: Decoder[Note], line: bytes, is_deleted: bool, is_added: bool
) -> None:
    assert decoder.decode_watch_event(line) == Change(
        new_note("a", 1), is_deleted=is_deleted, is_added=is_added
    )


def test_fields_that_the_model_does_not_know_are_ignored(decoder: Decoder[Note]) -> None:
    body = {"apiVersion": "v9", "spec": {"size": 4, "colour": "red"}, "extra": [1, {"x": None}]}
    meta = {"name": "a", "resourceVersion": "1", "managedFields": [{"manager": "kubectl"}]}
    note = decoder.decode_object(msgspec.json.encode({**body, "metadata": meta}))
    assert (note.metadata.name, note.spec.size) == ("a", 4)


def test_an_error_event_is_the_servers_status(decoder: Decoder[Note]) -> None:
    status = decoder.decode_watch_event(error_line(410, "Expired"))
    assert isinstance(status, Status)
    assert (status.code, status.reason) == (410, "Expired")


@pytest.mark.parametrize(
    ("annotation", "ends"),
    [(None, False), ("true", True), ("false", False), ("True", False), ("", False)],
)
def test_only_the_word_true_ends_the_initial_events(
    decoder: Decoder[Note], annotation: str | None, ends: bool
) -> None:
    assert decoder.decode_watch_event(bookmark_line(7, annotation)) == Bookmark("7", ends)


@pytest.mark.parametrize(("event_type", "is_deleted"), [("ADDED", False), ("DELETED", True)])
def test_an_undecodable_object_is_reported_with_its_identity(
    decoder: Decoder[Note], event_type: str, is_deleted: bool
) -> None:
    result = decoder.decode_watch_event(undecodable_line(event_type, "a", 5))
    assert isinstance(result, UndecodableObject)
    assert (result.key, result.uid, result.resource_version) == (ObjectKey("ns", "a"), "uid-a", "5")
    assert (result.is_deleted, "spec.size" in result.error) == (is_deleted, True)


@pytest.mark.parametrize("subject", [{}, {"metadata": {}}, {"metadata": 7}, {"metadata": None}, 7])
def test_an_event_without_valid_metadata_is_undecodable_and_has_an_empty_key(
    decoder: Decoder[Note], subject: object
) -> None:
    result = decoder.decode_watch_event(watch_line("ADDED", subject))
    assert isinstance(result, UndecodableObject)
    assert (result.key, result.resource_version) == (ObjectKey("", ""), "")


@pytest.mark.parametrize("missing", ["name", "resourceVersion"])
def test_an_object_without_a_name_or_version_is_undecodable(
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
def test_an_invalid_watch_line_is_an_undecodable_error(decoder: Decoder[Note], bad: bytes) -> None:
    with pytest.raises(UndecodableError, match=r"a watch of notes\.tests\.local cannot be decoded"):
        decoder.decode_watch_event(bad)


def test_invalid_utf8_in_an_event_makes_only_its_object_undecodable(decoder: Decoder[Note]) -> None:
    note = undecodable_note("a", 5)
    note["metadata"]["creationTimestamp"] = "?"
    result = decoder.decode_watch_event(watch_line("ADDED", note).replace(b"?", b"\xff"))
    assert isinstance(result, UndecodableObject)
    assert result.key == ObjectKey("ns", "a")


# Lists.


async def test_a_decoded_list_has_its_version_and_its_continue_token(
    decoder: Decoder[Note],
) -> None:
    meta = {"resourceVersion": "10", "continue": "more", "remainingItemCount": 3}
    object_list = await decoder.decode_list(
        new_page(metadata=meta, items=[new_note("a", 1), new_note("b", 2)])
    )
    assert (object_list.resource_version, object_list.continue_token) == ("10", "more")
    assert object_list.items == [new_note("a", 1), new_note("b", 2)]


@pytest.mark.parametrize("parts", [{}, {"items": None}, {"items": []}])
async def test_a_list_without_items_is_empty(decoder: Decoder[Note], parts: dict[str, Any]) -> None:
    assert (await decoder.decode_list(new_page(**parts))).items == []


async def test_an_undecodable_object_does_not_affect_the_other_objects_of_its_list(
    decoder: Decoder[Note],
) -> None:
    meta = {"resourceVersion": "10", "continue": "more"}
    items = [new_note("a", 1), undecodable_note("b", 2), new_note("c", 3), undecodable_note("d", 4)]
    object_list = await decoder.decode_list(new_page(metadata=meta, items=items))
    assert [note.metadata.name for note in object_list.items] == ["a", "c"]
    assert [(item.key.name, item.uid, item.is_deleted) for item in object_list.undecodable] == [
        ("b", "uid-b", False),
        ("d", "uid-d", False),
    ]
    assert (object_list.resource_version, object_list.continue_token) == ("10", "more")


async def test_invalid_utf8_in_a_list_makes_only_its_object_undecodable(
    decoder: Decoder[Note],
) -> None:
    body = new_page(items=[new_note("a", 1), new_note("b?", 2)]).replace(b"?", b"\xff")
    object_list = await decoder.decode_list(body)
    assert (len(object_list.items), len(object_list.undecodable)) == (1, 1)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"<html></html>",
        b"[]",
        b"{}",
        new_page(items=3),
        new_page(metadata=None),
        new_page(metadata={"resourceVersion": 10}),
        TOO_DEEP,
    ],
)
async def test_a_response_that_is_not_a_list_is_an_undecodable_error(
    decoder: Decoder[Note], bad: bytes
) -> None:
    with pytest.raises(UndecodableError, match=r"a list of notes\.tests\.local cannot be decoded"):
        await decoder.decode_list(bad)


# Single objects.


@pytest.mark.parametrize(
    "bad",
    [b"", b"{}", msgspec.json.encode(undecodable_note("a", 1)), b'{"metadata":{"name":"\xff"}}'],
)
def test_a_response_that_is_not_an_object_is_an_undecodable_error(
    decoder: Decoder[Note], bad: bytes
) -> None:
    with pytest.raises(
        UndecodableError, match=r"an object of notes\.tests\.local cannot be decoded"
    ):
        decoder.decode_object(bad)


# Responses to deletes.


def delete_response(**meta: object) -> bytes:
    identity = {"namespace": "ns", "name": "a", "uid": "uid-a", "resourceVersion": "9"}
    return msgspec.json.encode({"kind": "Note", "metadata": {**identity, **meta}})


def test_a_delete_that_returns_a_status_leaves_no_object(decoder: Decoder[Note]) -> None:
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
def test_a_deleted_object_with_finalizers_or_a_grace_period_remains(
    decoder: Decoder[Note], meta: dict[str, Any]
) -> None:
    body = delete_response(deletionTimestamp="2026-11-16T00:00:00Z", **meta)
    assert decoder.decode_delete_result(body) == DeleteResult(decoder.decode_object(body), "uid-a")


@pytest.mark.parametrize(
    "meta",
    [{}, {"deletionTimestamp": "2026-11-16T00:00:00Z", "deletionGracePeriodSeconds": 0}],
    ids=["no grace period", "grace period of 0"],
)
def test_a_deleted_object_without_finalizers_or_grace_period_does_not_remain(
    decoder: Decoder[Note], meta: dict[str, Any]
) -> None:
    """Check the response of the server for pods, volumes and service accounts."""
    assert decoder.decode_delete_result(delete_response(**meta)) == DeleteResult(None, "uid-a")


@pytest.mark.parametrize("bad", [b"", b"[]", b'{"kind":7}', b'{"kind":"Status","details":3}'])
def test_a_delete_response_that_is_neither_status_nor_object_is_an_undecodable_error(
    decoder: Decoder[Note], bad: bytes
) -> None:
    with pytest.raises(UndecodableError):
        decoder.decode_delete_result(bad)
