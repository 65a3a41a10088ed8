"""A reflector by client-go's rules: what it asks the server for, when, and what it tells."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import SILENCE_SECONDS, Reflector, Scope
from controller.runtime.client.decoding import Listing
from controller.runtime.errors import (
    ConnectRefusedError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    ServerError,
    ThrottledError,
    UnreachableError,
    VersionTooLargeError,
)
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock, settle
from tests.unit.controller.runtime.note_watch_events import (
    a_note,
    added,
    bookmark,
    broken,
    deleted,
    failure,
    line,
    listing,
    modified,
    unreadable,
)
from tests.unit.controller.scripted_source import RecordingSink, ScriptedSource, ScriptedWatch

# The first rung of the back-off waits 0.8 to 1.6 seconds.
BEFORE_A_STEP, A_STEP = 0.79, 0.82

EXPIRED = ExpiredError("too old", status=410)
TOO_LARGE = VersionTooLargeError("not there yet", status=504)
THROTTLED = ThrottledError("later", status=429)
REFUSED = ConnectRefusedError("nobody listens")
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
    """Runs a reflector for the length of a block; every watch it opened is closed once after it."""

    @asynccontextmanager
    async def run(**scope: Any) -> AsyncIterator[Reflector[Note]]:
        randomness = Random(7)
        metrics = InformerMetrics(registry)
        reflector = Reflector(source, Scope(NOTES, **scope), sink, metrics, clock, randomness)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(reflector.run())
            await settle()
            try:
                yield reflector
            finally:
                task.cancel()
        assert [watch.closed for watch in source.opened] == [1] * len(source.opened)

    return run


# Lists.


async def test_the_first_list_is_content_with_what_the_servers_cache_has(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.lists(listing(10, a_note("a", 3), a_note("b", 9)))
    async with reflecting():
        pass
    assert source.asked[0] == "list resourceVersion=0"
    assert sink.told == ["everything at 10: a@3 b@9"]


async def test_a_list_after_that_is_never_older_than_what_was_seen(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(modified("a", 12), failure(410, "Expired")))
    async with reflecting():
        await clock.advance(2)
    assert source.asked == [
        "list resourceVersion=0",
        "watch resourceVersion=10",
        "list resourceVersion=12",
    ]


@pytest.mark.parametrize("error", [EXPIRED, TOO_LARGE], ids=["expired", "too large"])
async def test_a_version_that_cannot_be_listed_is_given_up_at_once(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    error: Exception,
) -> None:
    source.lists(listing(10), error, listing(7, a_note("a", 6)))
    source.watches(ScriptedWatch(failure(410, "Gone")))
    async with reflecting():
        await clock.advance(2)
    assert source.asked[2:] == ["list resourceVersion=10", "list", "watch resourceVersion=7"]
    assert sink.told[-1] == "everything at 7: a@6"


async def test_a_version_that_cannot_be_listed_stays_given_up_until_a_list_succeeds(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(listing(10), EXPIRED, FAILED, listing(30), listing(40))
    source.watches(*(ScriptedWatch(failure(410)) for _ in range(2)))
    async with reflecting():
        await clock.advance(20)
    lists = [asked for asked in source.asked if asked.startswith("list")]
    assert lists[1:] == ["list resourceVersion=10", "list", "list", "list resourceVersion=30"]


async def test_an_expired_watch_alone_does_not_give_up_the_version(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(listing(10)).watches(EXPIRED)
    async with reflecting():
        await clock.advance(2)
    assert source.asked[2:] == ["list resourceVersion=10"]


async def test_pages_after_the_first_carry_the_token_and_no_version(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    first = listing(10, a_note("a", 1), a_note("b", 2), go_on="two")
    second = listing(11, a_note("c", 3), a_note("d", 4), go_on="three")
    source.lists(first, second, listing(12, a_note("e", 5)))
    async with reflecting(page=2):
        pass
    assert source.asked[:3] == [
        "list resourceVersion=0 limit=2",
        "list continue=two limit=2",
        "list continue=three limit=2",
    ]
    assert sink.told == ["everything at 10: a@1 b@2 c@3 d@4 e@5"]


async def test_the_version_of_a_list_by_pages_is_the_first_pages(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.lists(listing(10, go_on="two"), listing(15))
    async with reflecting(page=2):
        pass
    assert source.asked[-1] == "watch resourceVersion=10"


async def test_an_expired_page_token_becomes_one_whole_list_at_the_version_first_asked_for(
    source: ScriptedSource, sink: RecordingSink, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(listing(10), listing(20, a_note("a", 1), go_on="two"), EXPIRED)
    source.lists(listing(25, a_note("a", 1), a_note("b", 22)))
    source.watches(ScriptedWatch(failure(410)))
    async with reflecting(page=1):
        await clock.advance(2)
    assert source.asked[2:5] == [
        "list resourceVersion=10 limit=1",
        "list continue=two limit=1",
        "list resourceVersion=10",
    ]
    assert sink.told[1:] == ["everything at 25: a@1 b@22"]


async def test_a_whole_list_that_is_expired_too_is_taken_without_a_version(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.lists(listing(10, go_on="two"), EXPIRED, EXPIRED, listing(30))
    async with reflecting(page=1):
        pass
    assert source.asked[2:4] == ["list resourceVersion=0", "list limit=1"]


@pytest.mark.parametrize("error", [FAILED, FORBIDDEN, REFUSED, UnreachableError("reset")])
async def test_a_list_that_fails_is_asked_for_again_after_a_pause(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    error: Exception,
) -> None:
    source.lists(error, listing(10))
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert (len(source.asked), sink.told) == (1, [])
        await clock.advance(A_STEP)
    assert sink.told == ["everything at 10:"]


async def test_what_a_list_could_not_read_is_told_with_it(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    first = Listing([a_note("a", 1)], "10", "two", (unreadable("b", 2),))
    source.lists(first, Listing([], "10", "", (unreadable("c", 3),)))
    async with reflecting(page=2):
        pass
    assert sink.told == ["everything at 10: a@1 unreadable b unreadable c"]


# Watches.


async def test_a_watch_starts_where_the_list_ended_and_asks_for_bookmarks(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.lists(listing(10))
    async with reflecting():
        pass
    query = source.queries[-1]
    assert (query["resourceVersion"], query["allowWatchBookmarks"]) == ("10", "true")
    assert source.silences == [SILENCE_SECONDS]


async def test_every_watch_ends_at_a_time_of_its_own_so_that_clients_do_not_return_together(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.lists(listing(10))
    source.watches(*(ScriptedWatch(bookmark(10)).end() for _ in range(50)))
    async with reflecting():
        for _ in range(10):
            await settle()
    seconds = [int(query["timeoutSeconds"]) for query in source.queries[1:]]
    assert len(seconds) == 51
    assert all(300 <= asked <= 600 for asked in seconds)
    assert len(set(seconds)) > 25


async def test_changes_are_told_in_their_order(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.lists(listing(10, a_note("a", 1)))
    source.watches(ScriptedWatch(modified("a", 11), added("b", 12)).say(deleted("a", 13)))
    async with reflecting():
        pass
    assert sink.told[1:] == ["put a@11", "put b@12", "gone a@13"]


@pytest.mark.parametrize(
    "over", [ScriptedWatch.end, ScriptedWatch.break_off], ids=["closed", "broken"]
)
async def test_a_watch_that_is_over_is_opened_again_at_once_and_nothing_is_listed(
    source: ScriptedSource, reflecting: Reflecting, over: Callable[[ScriptedWatch], ScriptedWatch]
) -> None:
    source.lists(listing(10)).watches(over(ScriptedWatch(modified("a", 12))))
    async with reflecting():
        pass
    assert source.asked[1:] == ["watch resourceVersion=10", "watch resourceVersion=12"]


async def test_a_long_watch_in_which_nothing_happened_is_opened_again_at_once(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    quiet = ScriptedWatch()
    source.lists(listing(10)).watches(quiet)
    async with reflecting():
        await clock.advance(10)
        quiet.end()
        await settle()
    assert source.asked[1:] == ["watch resourceVersion=10"] * 2


@pytest.mark.parametrize(
    "over", [ScriptedWatch.end, ScriptedWatch.break_off], ids=["closed", "broken"]
)
async def test_a_server_that_accepts_watches_and_drops_them_is_not_asked_in_a_hot_loop(
    source: ScriptedSource,
    clock: VirtualClock,
    reflecting: Reflecting,
    over: Callable[[ScriptedWatch], ScriptedWatch],
) -> None:
    source.lists(listing(10)).watches(over(ScriptedWatch()))
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.asked[1:] == ["watch resourceVersion=10"]
        await clock.advance(A_STEP)
    assert source.asked[2:] == ["list resourceVersion=10"]


async def test_a_proxy_that_holds_back_the_answer_does_not_make_a_long_watch_a_short_one(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(opens_after=5.0).end())
    async with reflecting():
        await clock.advance(5)
    assert source.asked[1:] == ["watch resourceVersion=10"] * 2


async def test_a_watch_without_even_a_bookmark_is_not_trusted_and_everything_is_listed(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    """A server whose history went back tells nothing until it has caught up with our version."""
    mute = ScriptedWatch()
    source.lists(listing(1000), TOO_LARGE, listing(500)).watches(mute)
    async with reflecting():
        await clock.advance(SILENCE_SECONDS)
        mute.break_off()
        await clock.advance(2)
    assert source.asked[1:] == [
        "watch resourceVersion=1000",
        "list resourceVersion=1000",
        "list",
        "watch resourceVersion=500",
    ]


async def test_a_connection_that_dies_after_a_bookmark_is_only_a_broken_watch(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    dying = ScriptedWatch(bookmark(20))
    source.lists(listing(10)).watches(dying)
    async with reflecting():
        await clock.advance(SILENCE_SECONDS)
        dying.break_off()
        await settle()
    assert source.asked[2:] == ["watch resourceVersion=20"]


@pytest.mark.parametrize(
    "refusal",
    [REFUSED, THROTTLED, ScriptedWatch(failure(429, "TooManyRequests"))],
    ids=["connection refused", "throttled", "throttled while open"],
)
async def test_a_server_in_trouble_is_asked_for_the_same_watch_later_and_never_for_a_list(
    source: ScriptedSource,
    clock: VirtualClock,
    reflecting: Reflecting,
    refusal: ScriptedWatch | Exception,
) -> None:
    source.lists(listing(10)).watches(refusal)
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.asked[1:] == ["watch resourceVersion=10"]
        await clock.advance(A_STEP)
    assert source.asked[1:] == ["watch resourceVersion=10"] * 2


@pytest.mark.parametrize("error", [FORBIDDEN, FAILED, EXPIRED, UnreachableError("no answer")])
async def test_a_watch_that_is_refused_otherwise_leads_to_a_list_after_a_pause(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting, error: Exception
) -> None:
    source.lists(listing(10)).watches(error)
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.asked[1:] == ["watch resourceVersion=10"]
        await clock.advance(A_STEP)
    assert source.asked[2:] == ["list resourceVersion=10"]


@pytest.mark.parametrize(
    "bad",
    [
        failure(410, "Expired"),
        failure(410, "Gone"),
        failure(500, "InternalError"),
        failure(500, "StoreReadError"),
        line("ERROR", "not a status"),
        line("RENAMED", a_note("a", 11)),
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
        "cut off",
        "no JSON",
        "no UTF-8",
        "too deep",
    ],
)
async def test_an_event_that_cannot_be_trusted_ends_the_watch_and_leads_to_a_list_after_a_pause(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    bad: bytes,
) -> None:
    source.lists(listing(10), listing(20)).watches(ScriptedWatch(bad, modified("never read", 30)))
    async with reflecting():
        await clock.advance(BEFORE_A_STEP)
        assert source.asked[1:] == ["watch resourceVersion=10"]
        assert [watch.closed for watch in source.opened] == [1]
        await clock.advance(A_STEP)
    assert source.asked[2:] == ["list resourceVersion=10", "watch resourceVersion=20"]
    assert sink.told == ["everything at 10:", "everything at 20:"]


async def test_bookmarks_move_the_version_and_tell_nobody(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(bookmark(99)).end())
    async with reflecting():
        pass
    assert source.asked[-1] == "watch resourceVersion=99"
    assert sink.told == ["everything at 10:"]


async def test_a_bookmark_without_a_version_is_no_place_to_watch_from(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(bookmark("")).end())
    async with reflecting():
        pass
    assert source.asked[-1] == "watch resourceVersion=10"


async def test_the_version_is_the_last_events_and_not_the_largest(
    source: ScriptedSource, reflecting: Reflecting
) -> None:
    source.lists(listing(10))
    source.watches(ScriptedWatch(modified("a", 32), deleted("b", 21), added("c", 20)).end())
    async with reflecting():
        pass
    assert source.asked[-1] == "watch resourceVersion=20"


@pytest.mark.parametrize("nowhere", ["", "0"])
async def test_the_objects_that_a_watch_from_nowhere_begins_with_are_no_place_to_go_on_from(
    source: ScriptedSource, reflecting: Reflecting, nowhere: str
) -> None:
    source.lists(listing(nowhere))
    source.watches(ScriptedWatch(added("a", 30), added("b", 12)).end())
    source.watches(ScriptedWatch(added("a", 30), modified("b", 31), added("c", 32)).end())
    async with reflecting():
        pass
    assert source.asked[1:] == [
        f"watch resourceVersion={nowhere}",
        f"watch resourceVersion={nowhere}",
        "watch resourceVersion=32",
    ]


async def test_an_object_that_cannot_be_read_is_told_and_skipped(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.lists(listing(10))
    lines = broken("ADDED", "a", 11), modified("b", 12), broken("DELETED", "a", 13)
    source.watches(ScriptedWatch(*lines).end())
    async with reflecting():
        pass
    assert sink.told[1:] == ["unreadable a@11", "put b@12", "unreadable and gone a@13"]
    assert source.asked[-1] == "watch resourceVersion=13"


@pytest.mark.parametrize("subject", [{}, {"metadata": {}}, {"spec": {"size": 1}}])
async def test_an_event_of_nothing_that_has_a_name_is_told_and_moves_nothing(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting, subject: dict[str, Any]
) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(line("ADDED", subject)).end())
    async with reflecting():
        pass
    assert sink.told[1:] == ["unreadable @"]
    assert source.asked[-1] == "watch resourceVersion=10"


async def test_whoever_hunts_a_frozen_watch_can_see_when_the_server_was_last_heard(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    watch = ScriptedWatch()
    source.lists(FAILED, listing(10)).watches(watch)
    heard: list[float] = []
    async with reflecting() as reflector:
        heard.append(reflector.last_heard or -1.0)
        await clock.advance(2)
        heard.append(reflector.last_heard)
        watch.say(bookmark(11))
        await settle()
        heard.append(reflector.last_heard)
    assert heard[0] == -1.0
    assert 0.8 <= heard[1] < 1.6
    assert heard[2] == 2.0


async def test_lists_and_watches_are_counted_with_the_reason_for_which_they_ended(
    source: ScriptedSource,
    clock: VirtualClock,
    reflecting: Reflecting,
    registry: CollectorRegistry,
) -> None:
    source.lists(listing(10), listing(20))
    source.watches(ScriptedWatch(bookmark(11)).end(), ScriptedWatch(failure(429)))
    source.watches(ScriptedWatch(failure(410)))
    async with reflecting():
        await clock.advance(10)

    def count(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"resource": str(NOTES), **labels})

    assert count("informer_lists_total") == 2
    reasons = ["closed", "throttled", "expired"]
    assert [count("informer_watches_total", reason=reason) for reason in reasons] == [1, 1, 1]


# Pauses.


async def test_pauses_grow_by_the_ladder_while_nobody_listens_and_nothing_is_listed(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(listing(10)).watches(*[REFUSED] * 5)
    rungs = 0.8 + 1.6 + 3.2 + 6.4 + 12.8
    async with reflecting():
        await clock.advance(rungs - 0.01)
        assert len(source.asked) < 1 + 6
        await clock.advance(rungs)
    assert source.asked == ["list resourceVersion=0", *["watch resourceVersion=10"] * 6]


async def test_a_list_that_succeeds_does_not_shorten_the_next_pause(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.lists(*(listing(10) for _ in range(20)))
    source.watches(*(ScriptedWatch().end() for _ in range(20)))
    async with reflecting():
        await clock.advance(60)
    lists = [asked for asked in source.asked if asked.startswith("list")]
    assert len(lists) <= 7


# Streaming lists.


def streamed(*lines: bytes) -> ScriptedWatch:
    return ScriptedWatch(*lines, bookmark(20, "true"))


async def test_a_streaming_list_is_a_watch_that_begins_with_everything(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.watches(streamed(added("a", 3), added("b", 19)))
    async with reflecting(streaming=True):
        pass
    assert source.asked == [
        "watch sendInitialEvents=true resourceVersionMatch=NotOlderThan resourceVersion="
    ]
    assert source.queries[0]["allowWatchBookmarks"] == "true"
    assert 300 <= int(source.queries[0]["timeoutSeconds"]) <= 600
    assert sink.told == ["everything at 20: a@3 b@19"]


@pytest.mark.parametrize(
    "end", [None, bookmark(20), bookmark(20, "false"), bookmark(20, "True"), bookmark(20, "")]
)
async def test_nothing_is_told_before_the_bookmark_that_says_the_list_is_complete(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting, end: bytes | None
) -> None:
    lines = [added("a", 3)] if end is None else [added("a", 3), end]
    source.watches(ScriptedWatch(*lines))
    async with reflecting(streaming=True):
        pass
    assert sink.told == []


async def test_changes_while_a_streaming_list_is_under_way_are_part_of_it(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.watches(
        streamed(
            added("a", 3),
            added("b", 4),
            modified("a", 11),
            deleted("b", 12),
            broken("ADDED", "c", 13),
            broken("ADDED", "d", 14),
            modified("d", 15),
            broken("ADDED", "e", 16),
            broken("DELETED", "e", 17),
        )
    )
    async with reflecting(streaming=True):
        pass
    assert sink.told == ["everything at 20: a@11 d@15 unreadable c"]


async def test_the_stream_of_a_streaming_list_goes_on_as_the_watch(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.watches(streamed(added("a", 3)).say(modified("a", 21)).end())
    async with reflecting(streaming=True):
        pass
    assert sink.told == ["everything at 20: a@3", "put a@21"]
    assert source.asked[1:] == ["watch resourceVersion=21"]


@pytest.mark.parametrize(
    "over", [ScriptedWatch.end, ScriptedWatch.break_off], ids=["closed", "broken"]
)
async def test_a_streaming_list_that_ends_early_is_begun_anew_and_leaves_nothing_behind(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    over: Callable[[ScriptedWatch], ScriptedWatch],
) -> None:
    source.watches(over(ScriptedWatch(added("a", 3))), streamed(added("b", 4)))
    async with reflecting(streaming=True):
        assert sink.told == []
        await clock.advance(2)
    assert sink.told == ["everything at 20: b@4"]
    assert source.asked == [source.asked[0]] * 2


async def test_a_new_streaming_list_is_never_older_than_what_was_seen(
    source: ScriptedSource, clock: VirtualClock, reflecting: Reflecting
) -> None:
    source.watches(streamed().say(failure(410)))
    async with reflecting(streaming=True):
        await clock.advance(2)
    assert source.asked[1].endswith("resourceVersion=20")


@pytest.mark.parametrize("refusal", [REFUSED, THROTTLED, ScriptedWatch(failure(429))])
async def test_a_server_in_trouble_is_asked_for_the_same_streaming_list_later(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    refusal: ScriptedWatch | Exception,
) -> None:
    source.watches(refusal, streamed())
    async with reflecting(streaming=True):
        await clock.advance(BEFORE_A_STEP)
        assert len(source.asked) == 1
        await clock.advance(A_STEP)
    assert source.asked == [source.asked[0]] * 2
    assert sink.told == ["everything at 20:"]


@pytest.mark.parametrize("error", [INVALID, FORBIDDEN, FAILED, UnreachableError("no answer")])
async def test_a_server_without_streaming_lists_is_asked_for_a_plain_one_at_once(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting, error: Exception
) -> None:
    source.watches(error).lists(listing(10))
    async with reflecting(streaming=True):
        pass
    assert source.asked[1:] == ["list resourceVersion=0", "watch resourceVersion=10"]
    assert sink.told == ["everything at 10:"]


@pytest.mark.parametrize(
    "lost",
    [EXPIRED, TOO_LARGE, ScriptedWatch(failure(410, "Expired"))],
    ids=["expired", "too large", "expired while open"],
)
async def test_a_version_that_cannot_be_streamed_is_given_up(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    reflecting: Reflecting,
    lost: ScriptedWatch | Exception,
) -> None:
    source.watches(streamed().say(failure(410)), lost, streamed(added("a", 3)))
    async with reflecting(streaming=True):
        await clock.advance(10)
    assert [asked.split()[-1] for asked in source.asked[1:]] == [
        "resourceVersion=20",
        "resourceVersion=",
    ]
    assert sink.told[1:] == ["everything at 20: a@3"]


# Stopping.


async def stop_while_listing(source: ScriptedSource) -> None:
    await settle()
    assert source.asked == ["list resourceVersion=0"]


async def stop_while_pausing(source: ScriptedSource) -> None:
    source.lists(FAILED)
    await settle()


async def stop_while_opening(source: ScriptedSource) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(opens_after=5.0))
    await settle()
    assert source.asked[-1] == "watch resourceVersion=10"


async def stop_while_waiting_for_the_server(source: ScriptedSource) -> None:
    source.lists(listing(10)).watches(REFUSED)
    await settle()


async def stop_while_watching(source: ScriptedSource) -> None:
    source.lists(listing(10)).watches(ScriptedWatch(modified("a", 11)))
    await settle()
    assert len(source.opened) == 1


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
async def test_it_stops_at_any_moment_without_leaving_a_watch_open(
    source: ScriptedSource,
    sink: RecordingSink,
    clock: VirtualClock,
    moment: Callable[[ScriptedSource], Any],
) -> None:
    randomness, metrics = Random(7), InformerMetrics(CollectorRegistry())
    reflector = Reflector(source, Scope(NOTES), sink, metrics, clock, randomness)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reflector.run())
        await moment(source)
        asked = len(source.asked)
        task.cancel()
    await clock.advance(100)
    assert task.cancelled()
    assert len(source.asked) == asked
    assert [watch.closed for watch in source.opened] == [1] * len(source.opened)


async def test_a_streaming_list_that_is_stopped_half_way_is_closed(
    source: ScriptedSource, sink: RecordingSink, reflecting: Reflecting
) -> None:
    source.watches(ScriptedWatch(added("a", 3)))
    async with reflecting(streaming=True):
        assert len(source.opened) == 1
    assert sink.told == []
