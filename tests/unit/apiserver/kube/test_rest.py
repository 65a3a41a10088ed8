"""What goes with a call, and when it is worth repeating."""

import pytest

from apiserver.kube.access import Access
from apiserver.kube.request import MERGE_PATCH, Answer, Call
from apiserver.kube.rest import brief_pause, headers, is_short_number


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (Answer(429, b"", 0), 0),
        (Answer(429, b"", 1), 1),
        (Answer(429, b"", 2), None),
        (Answer(429, b"", None), None),
        (Answer(503, b"", 1), None),
        (Answer(200, b"", 1), None),
    ],
)
def test_a_busy_server_that_asks_for_a_short_pause_gets_it(
    answer: Answer, pause: int | None
) -> None:
    assert brief_pause(answer) == pause


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
    assert is_short_number(text) is is_one


def test_a_patch_says_of_which_kind_it_is() -> None:
    call = Call("PATCH", "/x", {}, b"{}", MERGE_PATCH)
    assert headers(Access("https://k8s", "Bearer t"), call) == {
        "Accept": "application/json",
        "Authorization": "Bearer t",
        "Content-Type": "application/merge-patch+json",
    }


def test_a_call_without_body_or_credentials_sends_neither() -> None:
    assert headers(Access("http://k8s"), Call("GET", "/x")) == {"Accept": "application/json"}
