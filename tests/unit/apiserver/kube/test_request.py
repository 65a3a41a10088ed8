"""Tests of Kubernetes requests as values."""

from collections.abc import Callable

import msgspec
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube import request
from apiserver.kube.port import ListOptions
from apiserver.kube.resources import GPU_UNITS, OPERATIONS

UNITS = "/apis/runtime.lokiwager.io/v1alpha1/namespaces/here/gpuunits"


def test_a_creation_says_of_what_type_and_who_writes() -> None:
    made = request.create_request(GPU_UNITS, "here", {"spec": {}})
    body = b'{"apiVersion":"runtime.lokiwager.io/v1alpha1","kind":"GPUUnit","spec":{}}'
    assert (str(made), made.body) == (f"POST {UNITS}", body)
    assert made.query == {"fieldManager": "gpu-runtime-api"}


def test_a_patch_is_a_merge_patch() -> None:
    made = request.patch_request(OPERATIONS, "here", "one", {"status": None}, "status")
    assert made.path.endswith("/operations/one/status")
    assert (made.method, made.media_type) == ("PATCH", "application/merge-patch+json")
    assert made.query == {"fieldManager": "gpu-runtime-api"}


def test_a_deletion_carries_its_conditions() -> None:
    made = request.delete_request(GPU_UNITS, "here", "one", {"uid": "u", "resourceVersion": ""})
    options = msgspec.json.decode(made.body or b"")
    assert str(made) == f"DELETE {UNITS}/one"
    assert options["propagationPolicy"] == "Background"
    assert options["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize(
    ("selection", "query"),
    [
        (ListOptions(), {}),
        (
            ListOptions(label_selector="a=b", field_selector="c=d"),
            {"labelSelector": "a=b", "fieldSelector": "c=d"},
        ),
        (ListOptions(limit=5, continue_token="t"), {"limit": "5", "continue": "t"}),  # noqa: S106 - no password
        (ListOptions(from_cache=True), {"resourceVersion": "0"}),
        (
            ListOptions(from_cache=True, limit=5),
            {"limit": "5", "resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"},
        ),
        (ListOptions(from_cache=True, continue_token="t"), {"continue": "t"}),  # noqa: S106 - no password
    ],
)
def test_a_list_asks_for_what_is_selected(selection: ListOptions, query: dict[str, str]) -> None:
    made = request.list_request(GPU_UNITS, "here", selection)
    assert (str(made), made.query) == (f"GET {UNITS}", query)


def test_a_watch_is_of_one_object_and_ends_by_itself() -> None:
    assert request.watch_request(GPU_UNITS, "here", "one", "7").query == {
        "watch": "true",
        "fieldSelector": "metadata.name=one",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "30",
        "resourceVersion": "7",
    }


MAKERS: list[Callable[[str], request.KubeRequest]] = [
    lambda name: request.get_request(GPU_UNITS, "here", name),
    lambda name: request.get_request(GPU_UNITS, name, "one"),
    lambda name: request.list_request(GPU_UNITS, name, ListOptions()),
    lambda name: request.create_request(GPU_UNITS, name, {}),
    lambda name: request.patch_request(GPU_UNITS, "here", name, {}),
    lambda name: request.delete_request(GPU_UNITS, "here", name, {}),
    lambda name: request.watch_request(GPU_UNITS, "here", name, ""),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb", "a,b=c", "a\n", "\ud800"])
def test_an_invalid_name_makes_no_call(
    make: Callable[[str], request.KubeRequest], name: str
) -> None:
    with pytest.raises(kube_errors.NotFoundError, match="no such object"):
        make(name)


def test_a_body_that_is_no_unicode_makes_no_call() -> None:
    with pytest.raises(kube_errors.InvalidError, match="not Unicode"):
        request.create_request(GPU_UNITS, "here", {"a": "\ud800"})
