"""An informer between a server and its subscribers: its store, its notices, our own writes."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope
from controller.runtime.cache.subscription import Notice, Subscription
from controller.runtime.client.decoding import Listing
from tests.support.builders.config_maps import CONFIG_MAPS
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock, settle
from tests.unit.controller.runtime.cache.recording_handler import Told
from tests.unit.controller.runtime.note_watch_events import (
    a_note,
    gone,
    key,
    listing,
    put,
    unreadable,
)
from tests.unit.controller.scripted_source import ScriptedSource, named


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def informer(clock: VirtualClock, registry: CollectorRegistry) -> Informer[Note]:
    """Follows a server that never answers: tests tell it the news themselves."""
    randomness = Random(7)
    return Informer(
        ScriptedSource(clock), Scope(NOTES), InformerMetrics(registry), clock, randomness
    )


@pytest.fixture
def told(informer: Informer[Note]) -> Told:
    handler = Told()
    informer.subscribe(handler)
    return handler


@asynccontextmanager
async def delivering(informer: Informer[Note]) -> AsyncIterator[None]:
    """Subscribers hear inside the block, and have heard everything at its end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await settle()
        try:
            yield
            await settle()
        finally:
            task.cancel()


async def delivered(informer: Informer[Note], told: Told) -> list[str]:
    async with delivering(informer):
        pass
    return told.words


def stored(informer: Informer[Note]) -> list[str]:
    return sorted(named(note) for note in informer.store.all())


# Lists and events.


async def test_the_initial_list_fills_the_store_and_is_told_as_a_backlog(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
    assert stored(informer) == ["a@1", "b@2"]
    assert await delivered(informer, told) == ["new a@1 (backlog)", "new b@2 (backlog)"]


async def test_changes_are_stored_and_told_in_their_order(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    informer.change(put(a_note("a", 11)))
    informer.change(put(a_note("a", 12)))
    informer.change(gone("a", 13))
    assert stored(informer) == []
    assert await delivered(informer, told) == ["new a@11", "a@11 became a@12", "gone a@13"]


async def test_a_second_list_tells_what_is_gone_and_then_what_is_new_and_nothing_else(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1), a_note("b", 2), a_note("c", 3)))
    informer.replace(listing(20, a_note("d", 15), a_note("a", 1), a_note("b", 12)))
    assert stored(informer) == ["a@1", "b@12", "d@15"]
    assert (await delivered(informer, told))[3:] == ["gone c@3", "new d@15", "b@2 became b@12"]


async def test_versions_that_cannot_be_compared_are_taken_as_they_come(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing("x", a_note("a", "p"), a_note("b", "q")))
    informer.replace(listing("w", a_note("a", "o")))
    informer.wrote(a_note("c", "m"))
    informer.change(put(a_note("a", "n")))
    assert stored(informer) == ["a@n", "c@m"]
    assert "gone b@q" in await delivered(informer, told)


async def test_a_handler_never_sees_a_store_older_than_its_notice(
    informer: Informer[Note],
) -> None:
    seen: list[list[str]] = []
    informer.subscribe(lambda _: seen.append(stored(informer)))
    async with delivering(informer):
        informer.replace(listing(10, a_note("a", 1)))
        await settle()
        informer.replace(listing(20, a_note("b", 11), a_note("c", 12)))
    assert seen == [["a@1"], *[["b@11", "c@12"]] * 3]


async def test_it_is_synced_once_the_store_holds_the_initial_list(
    informer: Informer[Note],
) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(informer.synced())
        await settle()
        assert not waiting.done()
        informer.replace(listing(10))


async def test_a_gauge_says_how_many_objects_there_are(
    informer: Informer[Note], registry: CollectorRegistry
) -> None:
    def count() -> float | None:
        return registry.get_sample_value("informer_objects", {"resource": str(NOTES)})

    informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
    informer.change(gone("a", 11))
    assert count() == 1
    informer.change(put(a_note("c", 12)))
    assert count() == 2


async def test_an_object_made_anew_under_its_old_name_is_told_as_two(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1, "first")))
    informer.change(gone("a", 11, "first"))
    informer.change(put(a_note("a", 12, "second")))
    assert (await delivered(informer, told))[1:] == ["gone a@11", "new a@12"]


async def test_an_object_made_anew_while_nobody_watched_is_told_as_a_change_of_its_uid(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1, "first")))
    informer.replace(listing(20, a_note("a", 12, "second")))
    assert (await delivered(informer, told))[1:] == ["a@1 became a@12"]
    old, new = told.notices[-1].old, told.notices[-1].new
    assert old is not None
    assert new is not None
    assert (old.metadata.uid, new.metadata.uid) == ("first", "second")


async def test_a_delete_of_what_was_never_known_is_not_told(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    informer.change(gone("a", 11))
    assert await delivered(informer, told) == []


async def test_a_list_that_is_older_than_the_last_one_means_that_history_went_back(
    informer: Informer[Note], told: Told
) -> None:
    """A cluster that was restored from a backup: what is newer than the list never happened."""
    informer.replace(listing(1000, a_note("a", 900), a_note("b", 400), a_note("c", 950)))
    informer.wrote(a_note("own", 1001))
    informer.deleted(key("b"), "uid-b")
    informer.replace(listing(500, a_note("a", 300), a_note("b", 400)))
    assert stored(informer) == ["a@300", "b@400"]
    informer.change(put(a_note("a", 501)))
    assert stored(informer) == ["a@501", "b@400"]
    assert (await delivered(informer, told))[-5:] == [
        "gone c@950",
        "gone own@1001",
        "a@900 became a@300",
        "new b@400",
        "a@300 became a@501",
    ]


async def test_history_can_go_back_to_before_an_event_that_could_not_be_read(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10))
    informer.unreadable(unreadable("a", 30))
    informer.wrote(a_note("b", 31))
    informer.replace(listing(20))
    assert stored(informer) == []


@pytest.mark.parametrize(
    ("scope", "kind", "namespace", "belongs"),
    [
        (Scope(NOTES), NOTES, "x", True),
        (Scope(NOTES, "x"), NOTES, "x", True),
        (Scope(NOTES, "x"), NOTES, "y", False),
        (Scope(NOTES), CONFIG_MAPS, "x", False),
    ],
)
async def test_an_informer_knows_what_belongs_into_it(
    scope: Scope[Note], kind: object, namespace: str, belongs: bool, clock: VirtualClock
) -> None:
    metrics, randomness = InformerMetrics(CollectorRegistry()), Random(7)
    informer = Informer(ScriptedSource(clock), scope, metrics, clock, randomness)
    assert informer.covers(kind, namespace) is belongs  # type: ignore[arg-type] # any kind


async def test_it_says_how_long_the_server_has_been_silent(clock: VirtualClock) -> None:
    source = ScriptedSource(clock).lists(listing(10))
    metrics, randomness = InformerMetrics(CollectorRegistry()), Random(7)
    informer: Informer[Note] = Informer(source, Scope(NOTES), metrics, clock, randomness)
    assert informer.silent_seconds() == float("inf")
    async with delivering(informer):
        await clock.advance(7)
        assert informer.silent_seconds() == 7.0


# Our own writes.


async def test_an_own_write_is_seen_at_once_and_told_once(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    informer.wrote(a_note("a", 11))
    assert stored(informer) == ["a@11"]
    informer.change(put(a_note("a", 11)))
    assert await delivered(informer, told) == ["new a@11"]


async def test_events_from_before_an_own_write_are_not_news(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.wrote(a_note("a", 13))
    informer.change(put(a_note("a", 11)))
    informer.change(put(a_note("a", 12)))
    assert stored(informer) == ["a@13"]
    informer.change(put(a_note("a", 14)))
    assert (await delivered(informer, told))[1:] == ["a@1 became a@13", "a@13 became a@14"]


async def test_the_answer_to_a_write_that_the_watch_is_past_is_not_news(
    informer: Informer[Note], told: Told
) -> None:
    """It was written, and somebody deleted it, before our task had its turn."""
    informer.replace(listing(10))
    informer.change(put(a_note("a", 11)))
    informer.change(gone("a", 12))
    informer.wrote(a_note("a", 11))
    assert stored(informer) == []
    assert await delivered(informer, told) == ["new a@11", "gone a@12"]


async def test_a_list_older_than_an_own_write_neither_removes_nor_overwrites_it(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("changed", 1)))
    informer.wrote(a_note("changed", 31))
    informer.wrote(a_note("created", 32))
    informer.replace(listing(20, a_note("changed", 11)))
    assert stored(informer) == ["changed@31", "created@32"]
    assert len(await delivered(informer, told)) == 3


async def test_a_list_newer_than_an_own_write_is_the_truth(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    informer.wrote(a_note("a", 11))
    informer.replace(listing(20))
    assert stored(informer) == []
    assert await delivered(informer, told) == ["new a@11", "gone a@11"]


async def test_what_was_written_before_the_first_list_is_seen_after_an_older_one(
    informer: Informer[Note], told: Told
) -> None:
    informer.wrote(a_note("a", 12))
    informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
    assert stored(informer) == ["a@12", "b@2"]
    assert await delivered(informer, told) == ["new a@12", "new b@2 (backlog)"]


async def test_who_subscribes_between_the_first_write_and_the_first_list_hears_of_both(
    informer: Informer[Note],
) -> None:
    informer.wrote(a_note("a", 12))
    late = Told()
    informer.subscribe(late)
    informer.replace(listing(10, a_note("b", 2)))
    assert await delivered(informer, late) == ["new a@12 (backlog)", "new b@2 (backlog)"]


async def test_an_own_delete_is_seen_at_once_and_told_once(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.deleted(key("a"), "uid-a")
    assert stored(informer) == []
    informer.change(gone("a", 11))
    assert (await delivered(informer, told))[1:] == ["gone a@1"]


async def test_events_from_before_an_own_delete_do_not_bring_the_object_back(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.deleted(key("a"), "uid-a")
    informer.change(put(a_note("a", 11)))
    informer.replace(listing(12, a_note("a", 11)))
    informer.change(put(a_note("a", 13)))
    informer.change(gone("a", 14))
    assert (await delivered(informer, told))[1:] == ["gone a@1"]
    assert stored(informer) == []


async def test_an_own_delete_is_not_forgotten_because_an_older_list_cannot_be_read(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.deleted(key("a"), "uid-a")
    informer.replace(Listing([], "12", "", (unreadable("a", 11),)))
    informer.change(put(a_note("a", 13)))
    assert stored(informer) == []


async def test_what_was_deleted_unseen_does_not_come_up_afterwards(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    informer.deleted(key("a"), "uid-a")
    informer.change(put(a_note("a", 11)))
    informer.change(gone("a", 12))
    assert await delivered(informer, told) == []


async def test_an_object_made_anew_after_an_own_delete_is_seen(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1, "first")))
    informer.deleted(key("a"), "first")
    informer.wrote(a_note("a", 12, "second"))
    informer.change(gone("a", 11, "first"))
    informer.change(put(a_note("a", 12, "second")))
    assert stored(informer) == ["a@12"]
    assert (await delivered(informer, told))[1:] == ["gone a@1", "new a@12"]


async def test_a_watch_that_lags_behind_several_own_lives_of_a_name_shows_none_of_them(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    for version, uid in ((11, "first"), (13, "second")):
        informer.wrote(a_note("a", version, uid))
        informer.deleted(key("a"), uid)
    informer.change(put(a_note("a", 11, "first")))
    assert stored(informer) == []
    informer.change(gone("a", 12, "first"))
    informer.change(put(a_note("a", 13, "second")))
    informer.change(gone("a", 14, "second"))
    assert await delivered(informer, told) == ["new a@11", "gone a@11", "new a@13", "gone a@13"]


async def test_a_list_from_before_an_own_life_of_a_name_does_not_make_it_forgotten(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10))
    informer.wrote(a_note("a", 21))
    informer.deleted(key("a"), "uid-a")
    informer.replace(listing(20))
    informer.change(put(a_note("a", 21)))
    assert stored(informer) == []


async def test_a_delete_of_a_predecessor_does_not_remove_what_we_made_since(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1, "first")))
    informer.wrote(a_note("a", 12, "second"))
    informer.change(gone("a", 11, "first"))
    assert stored(informer) == ["a@12"]
    assert (await delivered(informer, told))[1:] == ["a@1 became a@12"]


async def test_an_answer_that_does_not_say_what_was_deleted_changes_nothing(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.deleted(key("a"), "")
    informer.change(put(a_note("a", 11)))
    assert stored(informer) == ["a@11"]
    assert len(informer._deleted) == 0


def event_first(informer: Informer[Note], name: str) -> None:
    informer.change(put(a_note(name, 11)))
    informer.change(gone(name, 12))
    informer.deleted(key(name), f"uid-{name}")


def answer_first(informer: Informer[Note], name: str) -> None:
    informer.change(put(a_note(name, 11)))
    informer.deleted(key(name), f"uid-{name}")
    informer.change(gone(name, 12))


def list_first(informer: Informer[Note], name: str) -> None:
    informer.change(put(a_note(name, 11)))
    informer.replace(listing(12))
    informer.deleted(key(name), f"uid-{name}")


@pytest.mark.parametrize("order", [event_first, answer_first, list_first])
async def test_own_deletes_are_not_remembered_for_ever(
    informer: Informer[Note], order: Callable[[Informer[Note], str], None]
) -> None:
    informer.replace(listing(10))
    for number in range(50):
        order(informer, f"n{number}")
    assert len(informer._deleted) == 0


# What cannot be read.


def reports(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("informer_unreadable_total", {"resource": str(NOTES)}) or 0


async def test_an_object_that_cannot_be_read_is_reported_once_a_version(
    informer: Informer[Note], registry: CollectorRegistry
) -> None:
    bad: Listing[Note] = Listing([], "10", "", (unreadable("a", 1),))
    informer.replace(bad)
    informer.replace(bad)
    informer.unreadable(unreadable("a", 1))
    assert reports(registry) == 1
    informer.unreadable(unreadable("a", 11))
    assert reports(registry) == 2


async def test_the_last_state_that_could_be_read_stays(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.unreadable(unreadable("a", 11))
    informer.replace(Listing([], "12", "", (unreadable("a", 11),)))
    assert stored(informer) == ["a@1"]
    assert (await delivered(informer, told))[1:] == []


async def test_an_unreadable_successor_does_not_keep_its_predecessor_alive(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1, "first")))
    informer.replace(Listing([], "12", "", (unreadable("a", 11, "second"),)))
    assert stored(informer) == []
    assert (await delivered(informer, told))[1:] == ["gone a@1"]


async def test_an_object_that_became_unreadable_can_still_go(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.unreadable(unreadable("a", 11))
    informer.unreadable(unreadable("a", 12, gone=True))
    assert stored(informer) == []
    assert (await delivered(informer, told))[1:] == ["gone a@1"]


async def test_an_unreadable_delete_of_a_predecessor_does_not_remove_what_we_made_since(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10, a_note("a", 1, "first")))
    informer.wrote(a_note("a", 12, "second"))
    informer.unreadable(unreadable("a", 11, "first", gone=True))
    assert stored(informer) == ["a@12"]


async def test_what_was_reported_is_forgotten_with_its_object(informer: Informer[Note]) -> None:
    informer.replace(listing(10))
    for name in ("readable again", "gone unread", "gone", "not listed"):
        informer.unreadable(unreadable(name, 11))
    informer.change(put(a_note("readable again", 12)))
    informer.unreadable(unreadable("gone unread", 13, gone=True))
    informer.change(gone("gone", 14))
    assert list(informer._reported) == [key("not listed")]
    informer.replace(listing(20))
    assert len(informer._reported) == 0


# Subscribers.


async def test_who_comes_late_first_hears_of_everything_there_is(
    informer: Informer[Note],
) -> None:
    late = Told()
    async with delivering(informer):
        informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
        informer.subscribe(late)
        informer.change(put(a_note("a", 11)))
    assert late.words == ["new a@1 (backlog)", "new b@2 (backlog)", "a@1 became a@11"]


async def test_news_after_the_initial_list_is_no_backlog_even_when_a_list_brings_it(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10))
    informer.replace(listing(20, a_note("a", 11)))
    assert await delivered(informer, told) == ["new a@11"]


async def test_a_resync_tells_everything_once_more_as_a_backlog(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, a_note("a", 1)))
    informer.change(put(a_note("a", 11)))
    informer.resync()
    assert (await delivered(informer, told))[1:] == [
        "a@1 became a@11",
        "a@11 became a@11 (backlog)",
    ]


def handler_errors(registry: CollectorRegistry) -> float | None:
    return registry.get_sample_value("informer_handler_errors_total", {"resource": str(NOTES)})


async def test_a_handler_that_raises_loses_that_notice_and_nothing_else(
    informer: Informer[Note], told: Told, registry: CollectorRegistry
) -> None:
    heard = Told()

    def fragile(notice: Notice[Note]) -> None:
        if notice.old is None:
            raise RuntimeError("cannot take new ones")
        heard(notice)

    informer.subscribe(fragile)
    informer.replace(listing(10, a_note("a", 1)))
    informer.change(put(a_note("a", 11)))
    assert await delivered(informer, told) == ["new a@1 (backlog)", "a@1 became a@11"]
    assert heard.words == ["a@1 became a@11"]
    assert handler_errors(registry) == 1


async def test_a_handler_whose_own_work_was_cancelled_goes_on_with_the_next_notice(
    informer: Informer[Note],
) -> None:
    heard = Told()

    async def waits_for_what_was_cancelled(notice: Notice[Note]) -> None:
        if notice.old is None:
            work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            work.cancel()
            await work
        heard(notice)

    informer.subscribe(waits_for_what_was_cancelled)
    informer.replace(listing(10, a_note("a", 1)))
    informer.change(put(a_note("a", 11)))
    assert await delivered(informer, heard) == ["a@1 became a@11"]


async def test_a_slow_handler_gets_everything_in_its_order_and_holds_up_nobody(
    informer: Informer[Note], told: Told, clock: VirtualClock
) -> None:
    heard = Told()

    async def slow(notice: Notice[Note]) -> None:
        await clock.sleep(1)
        heard(notice)

    subscription = informer.subscribe(slow)
    async with delivering(informer):
        informer.replace(listing(10))
        for version in range(11, 16):
            informer.change(put(a_note("a", version)))
        await settle()
        assert len(told.words) == 5
        assert (heard.words, len(subscription)) == ([], 4)
        await clock.advance(5)
    assert heard.words == told.words


async def test_a_flood_of_notices_leaves_the_loop_its_turn(
    informer: Informer[Note], told: Told
) -> None:
    informer.replace(listing(10, *(a_note(f"n{number}", 1) for number in range(1000))))
    seen: list[int] = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        while len(told.notices) < 1000:
            seen.append(len(told.notices))
            await asyncio.sleep(0)
        task.cancel()
    assert len(seen) > 5


@asynccontextmanager
async def waiting_for(subscription: Subscription[Note]) -> AsyncIterator[asyncio.Task[None]]:
    async with asyncio.TaskGroup() as group:
        yield group.create_task(subscription.synced())


async def test_a_handler_is_synced_once_it_has_seen_the_initial_list(
    informer: Informer[Note], clock: VirtualClock
) -> None:
    async def slow(_: Notice[Note]) -> None:
        await clock.sleep(1)

    subscription = informer.subscribe(slow)
    async with delivering(informer), waiting_for(subscription) as synced:
        informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
        await clock.advance(1.5)
        assert not synced.done()
        await clock.advance(0.5)
        assert synced.done()


async def test_a_handler_of_nothing_is_synced_at_once(informer: Informer[Note], told: Told) -> None:
    subscription = informer.subscribe(told)
    async with delivering(informer), waiting_for(subscription):
        informer.replace(listing(10))


async def test_a_handler_that_raises_on_the_initial_list_is_synced_all_the_same(
    informer: Informer[Note],
) -> None:
    def broken(_: Notice[Note]) -> None:
        raise RuntimeError("broken handler")

    subscription = informer.subscribe(broken)
    async with delivering(informer), waiting_for(subscription):
        informer.replace(listing(10, a_note("a", 1)))


async def test_news_without_end_does_not_keep_a_handler_from_being_synced(
    informer: Informer[Note], clock: VirtualClock
) -> None:
    async def as_slow_as_the_news(notice: Notice[Note]) -> None:
        await clock.sleep(1)
        assert notice.new is not None
        version = int(notice.new.metadata.resource_version)
        informer.change(put(a_note("a", version + 10)))

    subscription = informer.subscribe(as_slow_as_the_news)
    async with delivering(informer), waiting_for(subscription) as synced:
        informer.replace(listing(10, a_note("a", 1)))
        await clock.advance(5)
        assert synced.done()


async def test_what_still_waits_when_an_informer_stops_is_dropped_and_is_no_error(
    informer: Informer[Note], clock: VirtualClock, registry: CollectorRegistry
) -> None:
    heard = Told()

    async def slow(notice: Notice[Note]) -> None:
        await clock.sleep(1)
        heard(notice)

    informer.subscribe(slow)
    informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
    async with delivering(informer):
        pass
    await clock.advance(10)
    assert heard.words == []
    assert handler_errors(registry) == 0


@pytest.mark.parametrize("reaction", [RuntimeError("cannot stop now"), None])
async def test_a_handler_that_does_not_heed_its_cancellation_cannot_keep_an_informer_from_stopping(
    informer: Informer[Note], reaction: Exception | None
) -> None:
    heard: list[str] = []

    async def stubborn(_: Notice[Note]) -> None:
        heard.append("a notice")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if reaction is not None:
                raise reaction from None

    informer.subscribe(stubborn)
    informer.replace(listing(10, a_note("a", 1), a_note("b", 2)))
    async with asyncio.timeout(60):
        async with delivering(informer):
            pass
    assert heard == ["a notice"]


async def test_a_subscriber_that_comes_after_the_end_leaves_nothing_running(
    informer: Informer[Note], told: Told
) -> None:
    async with delivering(informer):
        informer.replace(listing(10, a_note("a", 1)))
    informer.subscribe(told)
    gc.collect()  # a delivery that was begun and never awaited would be a warning here
    await settle()
    assert told.words == ["new a@1 (backlog)"]
