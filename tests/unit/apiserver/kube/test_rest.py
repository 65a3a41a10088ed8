"""What goes with a call, and when it is worth repeating."""

import pytest

from apiserver.kube.access import RestConfig
from apiserver.kube.request import MERGE_PATCH_MEDIA_TYPE, KubeRequest, KubeResponse
from apiserver.kube.rest import is_delay_seconds, request_headers, retry_pause


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (KubeResponse(429, b"", 0), 0),
        (KubeResponse(429, b"", 1), 1),
        (KubeResponse(429, b"", 2), None),
        (KubeResponse(429, b"", None), None),
        (KubeResponse(503, b"", 1), None),
        (KubeResponse(200, b"", 1), None),
    ],
)
def test_a_busy_server_that_asks_for_a_short_pause_gets_it(
    answer: KubeResponse, pause: int | None
) -> None:
    assert retry_pause(answer) == pause


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0", True),
        ("120", True),
        ("", False),
        ("-1", False),
        ("1.5", False),
        ("²", False),
        ("Fri, 31 Dec 1999 23:59:59 GMT", False),
        ("9" * 5000, False),
    ],
)
def test_a_pause_is_a_number_of_seconds(text: str, is_one: bool) -> None:
    assert is_delay_seconds(text) is is_one


def test_a_patch_says_of_which_kind_it_is() -> None:
    call = KubeRequest("PATCH", "/x", {}, b"{}", MERGE_PATCH_MEDIA_TYPE)
    assert request_headers(RestConfig("https://k8s", "Bearer t"), call) == {
        "Accept": "application/json",
        "Authorization": "Bearer t",
        "Content-Type": "application/merge-patch+json",
    }


def test_a_call_without_body_or_credentials_sends_neither() -> None:
    assert request_headers(RestConfig("http://k8s"), KubeRequest("GET", "/x")) == {
        "Accept": "application/json"
    }
