"""Tests of the views of invocations that callers get."""

import pytest
from msgspec.structs import replace

from apiserver.invocations.commands import Invocation
from apiserver.invocations.views import body_view, dead_letter_view, invocation_view
from apiserver.nats.port import ListedDeadLetter
from shared.invocation import transition
from shared.invocation.message import DeadLetterMessage
from shared.invocation.record import (
    InvocationBody,
    InvocationRecord,
    InvocationRequest,
    InvocationResult,
)
from shared.invocation.state import InvocationState
from shared.time import MAX_MILLISECONDS

QUEUED = InvocationRecord(
    function_uid="u", hash="h", accepted_at=1_000_000_000_123, request=InvocationRequest()
)


def view(record: InvocationRecord) -> dict[str, object]:
    return invocation_view(Invocation("echo", "a", record))


def test_the_latest_possible_timestamp_can_be_shown() -> None:
    latest = replace(QUEUED, accepted_at=MAX_MILLISECONDS)
    assert str(view(latest)["acceptedAt"]).startswith("9999-12-31T23:59:59.")


def test_a_queued_invocation_shows_only_its_acceptance_time() -> None:
    assert view(QUEUED) == {
        "invocationID": "a",
        "requestID": "echo",
        "state": "queued",
        "run": 1,
        "attempts": 0,
        "acceptedAt": "2001-09-09T01:46:40.123Z",
    }


def test_durations_are_never_negative_if_clocks_differ() -> None:
    running = transition.attempt_started(QUEUED, "w", 1, QUEUED.accepted_at - 60_000)
    ended = transition.finished(
        running, InvocationState.FAILED, InvocationResult(error="e"), running.started_at - 1
    )
    shown = view(ended)
    assert (shown["queueMilliseconds"], shown["runMilliseconds"]) == (0, 0)
    assert shown["result"] == {"error": "e"}


def test_an_invocation_that_never_ran_shows_no_run_times() -> None:
    shown = view(transition.cancelled(QUEUED, QUEUED.accepted_at + 5))
    assert shown.keys().isdisjoint({"startedAt", "queueMilliseconds", "runMilliseconds"})
    assert shown["finishedAt"] == "2001-09-09T01:46:40.128Z"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (InvocationBody(), {}),
        (InvocationBody(inline=b"text", size=4), {"body": "text", "bodyBytes": 4}),
        (InvocationBody(inline="é".encode()), {"body": "é", "bodyBytes": 2}),
        (InvocationBody(inline=b"\xff", size=1), {"bodyBase64": "/w==", "bodyBytes": 1}),
        (InvocationBody(object_name="o", size=300_000), {"bodyBytes": 300_000}),
    ],
)
def test_a_body_is_shown_as_text_as_base64_or_by_its_size(
    body: InvocationBody, expected: dict[str, object]
) -> None:
    assert body_view(body) == expected


def test_an_unreadable_dead_letter_is_shown_with_its_original_message() -> None:
    letter = DeadLetterMessage(reason="garbage", failure_class="unreadable", original=b"\x00", at=1)
    assert dead_letter_view(ListedDeadLetter("echo", letter, 3)) == {
        "requestID": "echo",
        "attempts": 0,
        "reason": "garbage",
        "failureClass": "unreadable",
        "at": "1970-01-01T00:00:00.001Z",
        "originalBase64": "AA==",
    }
