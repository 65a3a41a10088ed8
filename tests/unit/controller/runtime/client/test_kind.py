"""Tests of kinds: the URL paths of their objects."""

from typing import Any

import pytest

from controller.runtime.client.kind import Kind, key_of
from controller.runtime.key import ObjectKey
from tests.support.builders.config_maps import CONFIG_MAPS
from tests.support.builders.note_resource import NOTES, Note
from tests.unit.controller.runtime.note_watch_events import new_note

NODES: Kind[Note] = Kind("", "v1", "nodes", "Node", Note, namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CONFIG_MAPS.collection_path(), "/api/v1/configmaps"),
        (CONFIG_MAPS.collection_path("ns"), "/api/v1/namespaces/ns/configmaps"),
        (NOTES.collection_path(), "/apis/tests.local/v1/notes"),
        (NOTES.collection_path("ns"), "/apis/tests.local/v1/namespaces/ns/notes"),
        (NODES.object_path(ObjectKey("", "n1")), "/api/v1/nodes/n1"),
        (NOTES.object_path(ObjectKey("ns", "a")), "/apis/tests.local/v1/namespaces/ns/notes/a"),
        (
            NOTES.object_path(ObjectKey("ns", "a"), "status"),
            "/apis/tests.local/v1/namespaces/ns/notes/a/status",
        ),
    ],
)
def test_a_kind_knows_its_paths(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize(
    ("kind", "api_version", "name"),
    [(CONFIG_MAPS, "v1", "configmaps"), (NOTES, "tests.local/v1", "notes.tests.local")],
)
def test_a_kind_is_named_as_kubectl_names_it(kind: Kind[Any], api_version: str, name: str) -> None:
    assert (kind.api_version, str(kind)) == (api_version, name)


def test_an_object_is_known_by_where_it_is_and_not_by_its_uid() -> None:
    assert (
        key_of(new_note("a", 1, "one")) == key_of(new_note("a", 2, "two")) == ObjectKey("ns", "a")
    )


def test_a_key_is_written_with_its_namespace_where_there_is_one() -> None:
    assert (str(ObjectKey("ns", "a")), str(ObjectKey("", "n1"))) == ("ns/a", "n1")
