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
def test_a_kind_returns_the_paths_of_its_api(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize(
    ("kind", "api_version", "name"),
    [(CONFIG_MAPS, "v1", "configmaps"), (NOTES, "tests.local/v1", "notes.tests.local")],
)
def test_the_text_of_a_kind_is_its_name_in_kubectl(
    kind: Kind[Any], api_version: str, name: str
) -> None:
    assert (kind.api_version, str(kind)) == (api_version, name)


def test_the_key_of_an_object_is_its_namespace_and_name() -> None:
    assert (
        key_of(new_note("a", 1, "one")) == key_of(new_note("a", 2, "two")) == ObjectKey("ns", "a")
    )


def test_the_text_of_a_key_has_the_namespace_unless_it_is_empty() -> None:
    assert (str(ObjectKey("ns", "a")), str(ObjectKey("", "n1"))) == ("ns/a", "n1")
