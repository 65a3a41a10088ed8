"""Tests of Kubernetes requests as values."""

from collections.abc import Callable

import msgspec
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube import request
from apiserver.kube.port import ListOptions
from apiserver.kube.resources import GPU_UNITS, OPERATIONS

UNITS = "/apis/runtime.lokiwager.io/v1alpha1/namespaces/here/gpuunits"


def test_a_create_request_has_the_type_and_the_field_manager() -> None:
    kube_request = request.create_request(GPU_UNITS, "here", {"spec": {}})
    body = b'{"apiVersion":"runtime.lokiwager.io/v1alpha1","kind":"GPUUnit","spec":{}}'
    assert (str(kube_request), kube_request.body) == (f"POST {UNITS}", body)
    assert kube_request.query == {"fieldManager": "gpu-runtime-api"}


def test_a_patch_request_is_a_merge_patch() -> None:
    kube_request = request.patch_request(OPERATIONS, "here", "one", {"status": None}, "status")
    assert kube_request.path.endswith("/operations/one/status")
    assert (kube_request.method, kube_request.media_type) == (
        "PATCH",
        "application/merge-patch+json",
    )
    assert kube_request.query == {"fieldManager": "gpu-runtime-api"}


def test_a_delete_request_has_its_preconditions() -> None:
    kube_request = request.delete_request(
        GPU_UNITS, "here", "one", {"uid": "u", "resourceVersion": ""}
    )
    options = msgspec.json.decode(kube_request.body or b"")
    assert str(kube_request) == f"DELETE {UNITS}/one"
    assert options["propagationPolicy"] == "Background"
    assert options["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize(
    ("list_options", "query"),
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
def test_a_list_request_has_the_parameters_of_its_options(
    list_options: ListOptions, query: dict[str, str]
) -> None:
    kube_request = request.list_request(GPU_UNITS, "here", list_options)
    assert (str(kube_request), kube_request.query) == (f"GET {UNITS}", query)


def test_a_watch_request_selects_one_object_and_has_a_timeout() -> None:
    assert request.watch_request(GPU_UNITS, "here", "one", "7").query == {
        "watch": "true",
        "fieldSelector": "metadata.name=one",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "30",
        "resourceVersion": "7",
    }


BUILDERS: list[Callable[[str], request.KubeRequest]] = [
    lambda name: request.get_request(GPU_UNITS, "here", name),
    lambda name: request.get_request(GPU_UNITS, name, "one"),
    lambda name: request.list_request(GPU_UNITS, name, ListOptions()),
    lambda name: request.create_request(GPU_UNITS, name, {}),
    lambda name: request.patch_request(GPU_UNITS, "here", name, {}),
    lambda name: request.delete_request(GPU_UNITS, "here", name, {}),
    lambda name: request.watch_request(GPU_UNITS, "here", name, ""),
]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb", "a,b=c", "a\n", "\ud800"])
def test_a_request_with_an_invalid_name_is_not_built(
    build: Callable[[str], request.KubeRequest], name: str
) -> None:
    with pytest.raises(kube_errors.NotFoundError, match="no such object"):
        build(name)


def test_a_request_with_invalid_unicode_is_not_built() -> None:
    with pytest.raises(kube_errors.InvalidError, match="not Unicode"):
        request.create_request(GPU_UNITS, "here", {"a": "\ud800"})
