"""Tests of the reflector, which follows client-go's rules for requests and notifications."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WATCH_IDLE_TIMEOUT_SECONDS, Reflector, WatchScope
from controller.runtime.client.decoding import ObjectList
from controller.runtime.errors import (
    ConnectRefusedError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    ResourceVersionTooLargeError,
    ServerError,
    ThrottledError,
    UnreachableError,
)
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks
from tests.unit.controller.runtime.note_watch_events import (
    added_line,
    bookmark_line,
    deleted_line,
    error_line,
    listing,
    modified_line,
    new_note,
    undecodable,
    undecodable_line,
    watch_line,
)
from tests.unit.controller.scripted_source import RecordingSink, ScriptedSource, ScriptedWatch

# The first step of the back-off waits 0.8 to 1.6 seconds.
BEFORE_A_STEP, A_STEP = 0.79, 0.82

EXPIRED = ExpiredError("too old", status=410)
TOO_LARGE = ResourceVersionTooLargeError("not there yet", status=504)
THROTTLED = ThrottledError("later", status=429)
REFUSED = ConnectRefusedError("connection refused")
FORBIDDEN = ForbiddenError("not yours", status=403)
FAILED = ServerError("broken", status=500)
INVALID = InvalidError("sendInitialEvents is forbidden", status=422)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def source(clock: VirtualClock) -> ScriptedSource:
    return ScriptedSource(clock)


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


Reflecting = Callable[..., Any]


@pytest.fixture
def reflecting(
    source: ScriptedSource, sink: RecordingSink, clock: VirtualClock, registry: CollectorRegistry
) -> Reflecting:
    """Return a context manager that runs a reflector; each watch must be closed once."""

    @asynccontextmanager
    async def run(**scope: Any) -> AsyncIterator[Reflector[Note]]:
        rng = Random(7)
        metrics = InformerMetrics(registry)
        reflector = Reflector(source, WatchScope(NOTES, **scope), sink, metrics, clock, rng)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(reflector.run())
            await run_ready_tasks()
            try:
                yield reflector
            finally:
                task.cancel()
        assert [watch.close_count for watch in source.opened_watches] == [1] * len(
            source.opened_watches
        )

    return run


# Lists.


async def test_the_first_list_may_come_from_the_cache_of_the_server(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10, new_note("a", 3), new_note("b", 9)))
    async with reflecting():
        pass
    assert source.requests[0] == "list resourceVersion=0"
    assert sink.log == ["everything at 10: a@3 b@9"]


async def test_a_later_list_is_not_older_than_the_last_seen_version(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10)).add_watches(
        ScriptedWatch(modified_line("a", 12), error_line(410, "Expired"))
    )
    async with reflecting():
        await clock.advance(2)
    assert source.requests == [
        "list resourceVersion=0",
        "watch resourceVersion=10",
        "list resourceVersion=12",
    ]


@pytest.mark.parametrize("error", [EXPIRED, TOO_LARGE], ids=["expired", "too large"])
async def test_an_unavailable_version_leads_at_once_to_a_list_without_version(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    error: Exception,
) -> None:
    source.add_lists(listing(10), error, listing(7, new_note("a", 6)))
    source.add_watches(ScriptedWatch(error_line(410, "Gone")))
    async with reflecting():
        await clock.advance(2)
    assert source.requests[2:] == ["list resourceVersion=10", "list", "watch resourceVersion=7"]
    assert sink.log[-1] == "everything at 7: a@6"


async def test_lists_have_no_version_until_a_list_succeeds_after_an_unavailable_version(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10), EXPIRED, FAILED, listing(30), listing(40))
    source.add_watches(*(ScriptedWatch(error_line(410)) for _ in range(2)))
    async with reflecting():
        await clock.advance(20)
    lists = [request for request in source.requests if request.startswith("list")]
    assert lists[1:] == ["list resourceVersion=10", "list", "list", "list resourceVersion=30"]


async def test_a_list_after_an_expired_watch_still_has_the_last_version(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10)).add_watches(EXPIRED)
    async with reflecting():
        await clock.advance(2)
    assert source.requests[2:] == ["list resourceVersion=10"]


async def test_pages_after_the_first_carry_the_token_and_no_version(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    first = listing(10, new_note("a", 1), new_note("b", 2), continue_token="two")  # noqa: S106
    second = listing(11, new_note("c", 3), new_note("d", 4), continue_token="three")  # noqa: S106
    source.add_lists(first, second, listing(12, new_note("e", 5)))
    async with reflecting(page_size=2):
        pass
    assert source.requests[:3] == [
        "list resourceVersion=0 limit=2",
        "list continue=two limit=2",
        "list continue=three limit=2",
    ]
    assert sink.log == ["everything at 10: a@1 b@2 c@3 d@4 e@5"]


async def test_a_paged_list_has_the_version_of_its_first_page(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10, continue_token="two"), listing(15))  # noqa: S106
    async with reflecting(page_size=2):
        pass
    assert source.requests[-1] == "watch resourceVersion=10"


async def test_an_expired_page_token_leads_to_one_unpaged_list_at_the_requested_version(
    source: ScriptedSource, sink: RecordingSink, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10), listing(20, new_note("a", 1), continue_token="two"), EXPIRED)  # noqa: S106
    source.add_lists(listing(25, new_note("a", 1), new_note("b", 22)))
    source.add_watches(ScriptedWatch(error_line(410)))
    async with reflecting(page_size=1):
        await clock.advance(2)
    assert source.requests[2:5] == [
        "list resourceVersion=10 limit=1",
        "list continue=two limit=1",
        "list resourceVersion=10",
    ]
    assert sink.log[1:] == ["everything at 25: a@1 b@22"]


async def test_an_expired_unpaged_list_leads_to_a_list_without_version(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10, continue_token="two"), EXPIRED, EXPIRED, listing(30))  # noqa: S106
    async with reflecting(page_size=1):
        pass
    assert source.requests[2:4] == ["list resourceVersion=0", "list limit=1"]


@pytest.mark.parametrize("error", [FAILED, FORBIDDEN, REFUSED, UnreachableError("reset")])
async def test_a_failed_list_is_retried_after_a_backoff(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    error: Exception,
) -> None:
    source.add_lists(error, listing(10))
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert (len(source.requests), sink.log) == (1, [])
        await clock.advance(A_STEP)
    assert sink.log == ["everything at 10:"]


async def test_undecodable_objects_of_a_list_are_reported_with_it(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    first = ObjectList([new_note("a", 1)], "10", "two", (undecodable("b", 2),))
    source.add_lists(first, ObjectList([], "10", "", (undecodable("c", 3),)))
    async with reflecting(page_size=2):
        pass
    assert sink.log == ["everything at 10: a@1 unreadable b unreadable c"]


# Watches.


async def test_a_watch_starts_at_the_version_of_the_list_and_requests_bookmarks(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10))
    async with reflecting():
        pass
    query = source.queries[-1]
    assert (query["resourceVersion"], query["allowWatchBookmarks"]) == ("10", "true")
    assert source.silences == [WATCH_IDLE_TIMEOUT_SECONDS]


async def test_every_watch_has_a_random_timeout(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10))
    source.add_watches(*(ScriptedWatch(bookmark_line(10)).end_stream() for _ in range(50)))
    async with reflecting():
        for _ in range(10):
            await run_ready_tasks()
    seconds = [int(query["timeoutSeconds"]) for query in source.queries[1:]]
    assert len(seconds) == 51
    assert all(300 <= timeout <= 600 for timeout in seconds)
    assert len(set(seconds)) > 25


async def test_changes_are_reported_in_order(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10, new_note("a", 1)))
    source.add_watches(
        ScriptedWatch(modified_line("a", 11), added_line("b", 12)).add_lines(deleted_line("a", 13))
    )
    async with reflecting():
        pass
    assert sink.log[1:] == ["put a@11", "put b@12", "gone a@13"]


@pytest.mark.parametrize(
    "end_watch",
    [ScriptedWatch.end_stream, ScriptedWatch.break_connection],
    ids=["closed", "broken"],
)
async def test_an_ended_watch_is_reopened_at_once_without_a_list(
    source: ScriptedSource,
    reflecting: Reflecting,
    end_watch: Callable[[ScriptedWatch], ScriptedWatch],
) -> None:
    source.add_lists(listing(10)).add_watches(end_watch(ScriptedWatch(modified_line("a", 12))))
    async with reflecting():
        pass
    assert source.requests[1:] == ["watch resourceVersion=10", "watch resourceVersion=12"]


async def test_a_long_watch_without_events_is_reopened_at_once(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    silent_watch = ScriptedWatch()
    source.add_lists(listing(10)).add_watches(silent_watch)
    async with reflecting():
        await clock.advance(10)
        silent_watch.end_stream()
        await run_ready_tasks()
    assert source.requests[1:] == ["watch resourceVersion=10"] * 2


@pytest.mark.parametrize(
    "end_watch",
    [ScriptedWatch.end_stream, ScriptedWatch.break_connection],
    ids=["closed", "broken"],
)
async def test_a_watch_that_is_closed_at_once_leads_to_a_list_after_a_backoff(
    source: ScriptedSource,
    clock: VirtualClock,
    reflecting: Reflecting,
    end_watch: Callable[[ScriptedWatch], ScriptedWatch],
) -> None:
    source.add_lists(listing(10)).add_watches(end_watch(ScriptedWatch()))
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.requests[1:] == ["watch resourceVersion=10"]
        await clock.advance(A_STEP)
    assert source.requests[2:] == ["list resourceVersion=10"]


async def test_the_duration_of_a_watch_includes_the_wait_for_its_response(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10)).add_watches(ScriptedWatch(opens_after=5.0).end_stream())
    async with reflecting():
        await clock.advance(5)
    assert source.requests[1:] == ["watch resourceVersion=10"] * 2


async def test_a_silent_watch_leads_to_a_list(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    """Check a server that was restored from a backup: it is silent until it reaches our version."""
    silent_watch = ScriptedWatch()
    source.add_lists(listing(1000), TOO_LARGE, listing(500)).add_watches(silent_watch)
    async with reflecting():
        await clock.advance(WATCH_IDLE_TIMEOUT_SECONDS)
        silent_watch.break_connection()
        await clock.advance(2)
    assert source.requests[1:] == [
        "watch resourceVersion=1000",
        "list resourceVersion=1000",
        "list",
        "watch resourceVersion=500",
    ]


async def test_a_watch_that_breaks_after_a_bookmark_is_reopened(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    watch = ScriptedWatch(bookmark_line(20))
    source.add_lists(listing(10)).add_watches(watch)
    async with reflecting():
        await clock.advance(WATCH_IDLE_TIMEOUT_SECONDS)
        watch.break_connection()
        await run_ready_tasks()
    assert source.requests[2:] == ["watch resourceVersion=20"]


@pytest.mark.parametrize(
    "refusal",
    [REFUSED, THROTTLED, ScriptedWatch(error_line(429, "TooManyRequests"))],
    ids=["connection refused", "throttled", "throttled while open"],
)
async def test_a_refused_or_throttled_watch_is_reopened_after_a_backoff_without_a_list(
    source: ScriptedSource,
    clock: VirtualClock,
    reflecting: Reflecting,
    refusal: ScriptedWatch | Exception,
) -> None:
    source.add_lists(listing(10)).add_watches(refusal)
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.requests[1:] == ["watch resourceVersion=10"]
        await clock.advance(A_STEP)
    assert source.requests[1:] == ["watch resourceVersion=10"] * 2


@pytest.mark.parametrize("error", [FORBIDDEN, FAILED, EXPIRED, UnreachableError("no response")])
async def test_a_watch_that_fails_with_another_error_leads_to_a_list_after_a_backoff(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting, error: Exception
) -> None:
    source.add_lists(listing(10)).add_watches(error)
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.requests[1:] == ["watch resourceVersion=10"]
        await clock.advance(A_STEP)
    assert source.requests[2:] == ["list resourceVersion=10"]


@pytest.mark.parametrize(
    "line",
    [
        error_line(410, "Expired"),
        error_line(410, "Gone"),
        error_line(500, "InternalError"),
        error_line(500, "StoreReadError"),
        watch_line("ERROR", "not a status"),
        watch_line("RENAMED", new_note("a", 11)),
        b'{"type":"ADDED","object":{"metada',
        b"<html>a proxy's error page</html>",
        b'{"type":"\xff","object":{}}',
        b'{"type":"ADDED","object":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
    ids=[
        "expired",
        "gone",
        "server failed",
        "corrupt object in the store",
        "error without a status",
        "unknown type",
        "truncated",
        "not JSON",
        "not UTF-8",
        "too deep",
    ],
)
async def test_an_invalid_event_ends_the_watch_and_leads_to_a_list_after_a_backoff(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    line: bytes,
) -> None:
    source.add_lists(listing(10), listing(20)).add_watches(
        ScriptedWatch(line, modified_line("never read", 30))
    )
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.requests[1:] == ["watch resourceVersion=10"]
        assert [watch.close_count for watch in source.opened_watches] == [1]
        await clock.advance(A_STEP)
    assert source.requests[2:] == ["list resourceVersion=10", "watch resourceVersion=20"]
    assert sink.log == ["everything at 10:", "everything at 20:"]


async def test_a_bookmark_moves_the_version_without_a_notification(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10)).add_watches(ScriptedWatch(bookmark_line(99)).end_stream())
    async with reflecting():
        pass
    assert source.requests[-1] == "watch resourceVersion=99"
    assert sink.log == ["everything at 10:"]


async def test_a_bookmark_without_a_version_does_not_move_the_watch(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10)).add_watches(ScriptedWatch(bookmark_line("")).end_stream())
    async with reflecting():
        pass
    assert source.requests[-1] == "watch resourceVersion=10"


async def test_the_version_is_that_of_the_last_event_and_not_the_largest(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10))
    source.add_watches(
        ScriptedWatch(
            modified_line("a", 32), deleted_line("b", 21), added_line("c", 20)
        ).end_stream()
    )
    async with reflecting():
        pass
    assert source.requests[-1] == "watch resourceVersion=20"


@pytest.mark.parametrize("unset_version", ["", "0"])
async def test_initial_events_of_a_watch_without_version_do_not_set_the_version(
    source: ScriptedSource, reflecting: Reflecting, unset_version: str
) -> None:
    source.add_lists(listing(unset_version))
    source.add_watches(ScriptedWatch(added_line("a", 30), added_line("b", 12)).end_stream())
    source.add_watches(
        ScriptedWatch(added_line("a", 30), modified_line("b", 31), added_line("c", 32)).end_stream()
    )
    async with reflecting():
        pass
    assert source.requests[1:] == [
        f"watch resourceVersion={unset_version}",
        f"watch resourceVersion={unset_version}",
        "watch resourceVersion=32",
    ]


async def test_an_undecodable_object_is_reported_and_skipped(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10))
    lines = (
        undecodable_line("ADDED", "a", 11),
        modified_line("b", 12),
        undecodable_line("DELETED", "a", 13),
    )
    source.add_watches(ScriptedWatch(*lines).end_stream())
    async with reflecting():
        pass
    assert sink.log[1:] == ["unreadable a@11", "put b@12", "unreadable and gone a@13"]
    assert source.requests[-1] == "watch resourceVersion=13"


@pytest.mark.parametrize("subject", [{}, {"metadata": {}}, {"spec": {"size": 1}}])
async def test_an_event_without_a_name_is_reported_and_does_not_move_the_version(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting, subject: dict[str, Any]
) -> None:
    source.add_lists(listing(10)).add_watches(
        ScriptedWatch(watch_line("ADDED", subject)).end_stream()
    )
    async with reflecting():
        pass
    assert sink.log[1:] == ["unreadable @"]
    assert source.requests[-1] == "watch resourceVersion=10"


async def test_the_time_of_the_last_server_message_is_recorded(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    watch = ScriptedWatch()
    source.add_lists(FAILED, listing(10)).add_watches(watch)
    received_at: list[float] = []
    async with reflecting() as reflector:
        received_at.append(reflector.last_received_at or -1.0)
        await clock.advance(2)
        received_at.append(reflector.last_received_at)
        watch.add_lines(bookmark_line(11))
        await run_ready_tasks()
        received_at.append(reflector.last_received_at)
    assert received_at[0] == -1.0
    assert 0.8 <= received_at[1] < 1.6
    assert received_at[2] == 2.0


async def test_lists_are_counted_and_watches_are_counted_by_the_reason_of_their_end(
    source: ScriptedSource,
    clock: VirtualClock,
    reflecting: Reflecting,
    registry: CollectorRegistry,
) -> None:
    source.add_lists(listing(10), listing(20))
    source.add_watches(
        ScriptedWatch(bookmark_line(11)).end_stream(), ScriptedWatch(error_line(429))
    )
    source.add_watches(ScriptedWatch(error_line(410)))
    async with reflecting():
        await clock.advance(10)

    def count(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"resource": str(NOTES), **labels})

    assert count("informer_lists_total") == 2
    reasons = ["closed", "throttled", "expired"]
    assert [count("informer_watches_total", reason=reason) for reason in reasons] == [1, 1, 1]


# Back-off.


async def test_the_backoff_grows_while_the_server_is_unreachable(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(listing(10)).add_watches(*[REFUSED] * 5)
    base_seconds = 0.8 + 1.6 + 3.2 + 6.4 + 12.8
    async with reflecting():
        await clock.advance(base_seconds - 0.01)
        assert len(source.requests) < 1 + 6
        await clock.advance(base_seconds)
    assert source.requests == ["list resourceVersion=0", *["watch resourceVersion=10"] * 6]


async def test_a_successful_list_does_not_reset_the_backoff(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_lists(*(listing(10) for _ in range(20)))
    source.add_watches(*(ScriptedWatch().end_stream() for _ in range(20)))
    async with reflecting():
        await clock.advance(60)
    lists = [request for request in source.requests if request.startswith("list")]
    assert len(lists) <= 7


# Streaming lists.


def streamed(*lines: bytes) -> ScriptedWatch:
    return ScriptedWatch(*lines, bookmark_line(20, "true"))


async def test_a_streaming_list_is_a_watch_that_begins_with_all_objects(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_watches(streamed(added_line("a", 3), added_line("b", 19)))
    async with reflecting(use_watch_list=True):
        pass
    assert source.requests == [
        "watch sendInitialEvents=true resourceVersionMatch=NotOlderThan resourceVersion="
    ]
    assert source.queries[0]["allowWatchBookmarks"] == "true"
    assert 300 <= int(source.queries[0]["timeoutSeconds"]) <= 600
    assert sink.log == ["everything at 20: a@3 b@19"]


@pytest.mark.parametrize(
    "end",
    [
        None,
        bookmark_line(20),
        bookmark_line(20, "false"),
        bookmark_line(20, "True"),
        bookmark_line(20, ""),
    ],
)
async def test_a_streaming_list_is_reported_only_after_its_final_bookmark(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting, end: bytes | None
) -> None:
    lines = [added_line("a", 3)] if end is None else [added_line("a", 3), end]
    source.add_watches(ScriptedWatch(*lines))
    async with reflecting(use_watch_list=True):
        pass
    assert sink.log == []


async def test_changes_during_a_streaming_list_are_part_of_it(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_watches(
        streamed(
            added_line("a", 3),
            added_line("b", 4),
            modified_line("a", 11),
            deleted_line("b", 12),
            undecodable_line("ADDED", "c", 13),
            undecodable_line("ADDED", "d", 14),
            modified_line("d", 15),
            undecodable_line("ADDED", "e", 16),
            undecodable_line("DELETED", "e", 17),
        )
    )
    async with reflecting(use_watch_list=True):
        pass
    assert sink.log == ["everything at 20: a@11 d@15 unreadable c"]


async def test_the_stream_of_a_streaming_list_continues_as_the_watch(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_watches(streamed(added_line("a", 3)).add_lines(modified_line("a", 21)).end_stream())
    async with reflecting(use_watch_list=True):
        pass
    assert sink.log == ["everything at 20: a@3", "put a@21"]
    assert source.requests[1:] == ["watch resourceVersion=21"]


@pytest.mark.parametrize(
    "end_watch",
    [ScriptedWatch.end_stream, ScriptedWatch.break_connection],
    ids=["closed", "broken"],
)
async def test_an_incomplete_streaming_list_is_restarted_from_scratch(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    end_watch: Callable[[ScriptedWatch], ScriptedWatch],
) -> None:
    source.add_watches(end_watch(ScriptedWatch(added_line("a", 3))), streamed(added_line("b", 4)))
    async with reflecting(use_watch_list=True):
        assert sink.log == []
        await clock.advance(2)
    assert sink.log == ["everything at 20: b@4"]
    assert source.requests == [source.requests[0]] * 2


async def test_a_later_streaming_list_is_not_older_than_the_last_seen_version(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.add_watches(streamed().add_lines(error_line(410)))
    async with reflecting(use_watch_list=True):
        await clock.advance(2)
    assert source.requests[1].endswith("resourceVersion=20")


@pytest.mark.parametrize("refusal", [REFUSED, THROTTLED, ScriptedWatch(error_line(429))])
async def test_a_refused_or_throttled_streaming_list_is_retried_after_a_backoff(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    refusal: ScriptedWatch | Exception,
) -> None:
    source.add_watches(refusal, streamed())
    async with reflecting(use_watch_list=True):
        await clock.advance(BEFORE_A_STEP)
        assert len(source.requests) == 1
        await clock.advance(A_STEP)
    assert source.requests == [source.requests[0]] * 2
    assert sink.log == ["everything at 20:"]


@pytest.mark.parametrize("error", [INVALID, FORBIDDEN, FAILED, UnreachableError("no response")])
async def test_an_unsupported_streaming_list_leads_at_once_to_a_plain_list(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting, error: Exception
) -> None:
    source.add_watches(error).add_lists(listing(10))
    async with reflecting(use_watch_list=True):
        pass
    assert source.requests[1:] == ["list resourceVersion=0", "watch resourceVersion=10"]
    assert sink.log == ["everything at 10:"]


@pytest.mark.parametrize(
    "unavailable",
    [EXPIRED, TOO_LARGE, ScriptedWatch(error_line(410, "Expired"))],
    ids=["expired", "too large", "expired while open"],
)
async def test_an_unavailable_version_leads_to_a_streaming_list_without_version(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    unavailable: ScriptedWatch | Exception,
) -> None:
    source.add_watches(
        streamed().add_lines(error_line(410)), unavailable, streamed(added_line("a", 3))
    )
    async with reflecting(use_watch_list=True):
        await clock.advance(10)
    assert [request.split()[-1] for request in source.requests[1:]] == [
        "resourceVersion=20",
        "resourceVersion=",
    ]
    assert sink.log[1:] == ["everything at 20: a@3"]


# Stopping.


async def stop_while_listing(source: ScriptedSource) -> None:
    await run_ready_tasks()
    assert source.requests == ["list resourceVersion=0"]


async def stop_while_pausing(source: ScriptedSource) -> None:
    source.add_lists(FAILED)
    await run_ready_tasks()


async def stop_while_opening(source: ScriptedSource) -> None:
    source.add_lists(listing(10)).add_watches(ScriptedWatch(opens_after=5.0))
    await run_ready_tasks()
    assert source.requests[-1] == "watch resourceVersion=10"


async def stop_while_waiting_for_the_server(source: ScriptedSource) -> None:
    source.add_lists(listing(10)).add_watches(REFUSED)
    await run_ready_tasks()


async def stop_while_watching(source: ScriptedSource) -> None:
    source.add_lists(listing(10)).add_watches(ScriptedWatch(modified_line("a", 11)))
    await run_ready_tasks()
    assert len(source.opened_watches) == 1


async def stop_before_anything(source: ScriptedSource) -> None:
    del source


@pytest.mark.parametrize(
    "moment",
    [
        stop_before_anything,
        stop_while_listing,
        stop_while_pausing,
        stop_while_opening,
        stop_while_waiting_for_the_server,
        stop_while_watching,
    ],
)
async def test_the_reflector_stops_at_any_time_without_leaving_a_watch_open(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    moment: Callable[[ScriptedSource], Any],
) -> None:
    rng, metrics = Random(7), InformerMetrics(CollectorRegistry())
    reflector = Reflector(source, WatchScope(NOTES), sink, metrics, clock, rng)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reflector.run())
        await moment(source)
        request_count = len(source.requests)
        task.cancel()
    await clock.advance(100)
    assert task.cancelled()
    assert len(source.requests) == request_count
    assert [watch.close_count for watch in source.opened_watches] == [1] * len(
        source.opened_watches
    )


async def test_an_unfinished_streaming_list_is_closed_at_the_stop(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.add_watches(ScriptedWatch(added_line("a", 3)))
    async with reflecting(use_watch_list=True):
        assert len(source.opened_watches) == 1
    assert sink.log == []
