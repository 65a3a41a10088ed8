"""Tests of the informer: its store, its notifications, and the results of our own writes."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.cache.subscription import ChangeNotification, Subscription
from controller.runtime.client.decoding import ObjectList
from tests.support.builders.config_maps import CONFIG_MAPS
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks
from tests.unit.controller.runtime.cache.recording_handler import RecordingHandler
from tests.unit.controller.runtime.note_watch_events import (
    deleted_change,
    listing,
    new_note,
    note_key,
    put_change,
    undecodable,
)
from tests.unit.controller.scripted_source import ScriptedSource, note_and_version


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def informer(clock: VirtualClock, registry: CollectorRegistry) -> Informer[Note]:
    """Return an informer whose server never responds: the tests pass the changes to it."""
    rng = Random(7)
    return Informer(ScriptedSource(clock), WatchScope(NOTES), InformerMetrics(registry), clock, rng)


@pytest.fixture
def recorder(informer: Informer[Note]) -> RecordingHandler:
    handler = RecordingHandler()
    informer.subscribe(handler)
    return handler


@asynccontextmanager
async def delivering(informer: Informer[Note]) -> AsyncIterator[None]:
    """Deliver notifications to the subscribers inside the block, and all of them by its end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await run_ready_tasks()
        try:
            yield
            await run_ready_tasks()
        finally:
            task.cancel()


async def delivered(informer: Informer[Note], handler: RecordingHandler) -> list[str]:
    async with delivering(informer):
        pass
    return handler.notification_texts


def stored(informer: Informer[Note]) -> list[str]:
    return sorted(note_and_version(note) for note in informer.store.all())


# Lists and events.


async def test_the_initial_list_fills_the_store_and_is_delivered_as_backlog(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
    assert stored(informer) == ["a@1", "b@2"]
    assert await delivered(informer, recorder) == ["new a@1 (backlog)", "new b@2 (backlog)"]


async def test_changes_are_stored_and_delivered_in_order(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    informer.handle_change(put_change(new_note("a", 11)))
    informer.handle_change(put_change(new_note("a", 12)))
    informer.handle_change(deleted_change("a", 13))
    assert stored(informer) == []
    assert await delivered(informer, recorder) == ["new a@11", "a@11 became a@12", "gone a@13"]


async def test_a_second_list_delivers_only_deleted_and_new_objects(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1), new_note("b", 2), new_note("c", 3)))
    informer.replace(listing(20, new_note("d", 15), new_note("a", 1), new_note("b", 12)))
    assert stored(informer) == ["a@1", "b@12", "d@15"]
    assert (await delivered(informer, recorder))[3:] == ["gone c@3", "new d@15", "b@2 became b@12"]


async def test_states_with_non_numeric_versions_are_stored_in_order_of_arrival(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing("x", new_note("a", "p"), new_note("b", "q")))
    informer.replace(listing("w", new_note("a", "o")))
    informer.observe_write(new_note("c", "m"))
    informer.handle_change(put_change(new_note("a", "n")))
    assert stored(informer) == ["a@n", "c@m"]
    assert "gone b@q" in await delivered(informer, recorder)


async def test_a_handler_never_reads_a_store_older_than_its_notification(
    informer: Informer[Note],
) -> None:
    store_contents: list[list[str]] = []
    informer.subscribe(lambda _: store_contents.append(stored(informer)))
    async with delivering(informer):
        informer.replace(listing(10, new_note("a", 1)))
        await run_ready_tasks()
        informer.replace(listing(20, new_note("b", 11), new_note("c", 12)))
    assert store_contents == [["a@1"], *[["b@11", "c@12"]] * 3]


async def test_the_informer_is_synced_once_the_store_holds_the_initial_list(
    informer: Informer[Note],
) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(informer.synced())
        await run_ready_tasks()
        assert not waiting.done()
        informer.replace(listing(10))


async def test_the_object_gauge_has_the_number_of_stored_objects(
    informer: Informer[Note], registry: CollectorRegistry
) -> None:
    def count() -> float | None:
        return registry.get_sample_value("informer_objects", {"resource": str(NOTES)})

    informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
    informer.handle_change(deleted_change("a", 11))
    assert count() == 1
    informer.handle_change(put_change(new_note("c", 12)))
    assert count() == 2


async def test_a_recreated_object_is_delivered_as_delete_and_add(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1, "first")))
    informer.handle_change(deleted_change("a", 11, "first"))
    informer.handle_change(put_change(new_note("a", 12, "second")))
    assert (await delivered(informer, recorder))[1:] == ["gone a@11", "new a@12"]


async def test_an_object_recreated_between_lists_is_delivered_as_an_update(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1, "first")))
    informer.replace(listing(20, new_note("a", 12, "second")))
    assert (await delivered(informer, recorder))[1:] == ["a@1 became a@12"]
    old, new = recorder.notifications[-1].old, recorder.notifications[-1].new
    assert old is not None
    assert new is not None
    assert (old.metadata.uid, new.metadata.uid) == ("first", "second")


async def test_a_delete_of_an_unknown_object_is_not_delivered(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    informer.handle_change(deleted_change("a", 11))
    assert await delivered(informer, recorder) == []


async def test_a_list_older_than_the_last_version_replaces_the_whole_store(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    """Check a cluster restored from a backup: the changes after the list's version are undone."""
    informer.replace(listing(1000, new_note("a", 900), new_note("b", 400), new_note("c", 950)))
    informer.observe_write(new_note("own", 1001))
    informer.observe_delete(note_key("b"), "uid-b")
    informer.replace(listing(500, new_note("a", 300), new_note("b", 400)))
    assert stored(informer) == ["a@300", "b@400"]
    informer.handle_change(put_change(new_note("a", 501)))
    assert stored(informer) == ["a@501", "b@400"]
    assert (await delivered(informer, recorder))[-5:] == [
        "gone c@950",
        "gone own@1001",
        "a@900 became a@300",
        "new b@400",
        "a@300 became a@501",
    ]


async def test_a_restored_backup_may_be_older_than_an_undecodable_event(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10))
    informer.handle_undecodable(undecodable("a", 30))
    informer.observe_write(new_note("b", 31))
    informer.replace(listing(20))
    assert stored(informer) == []


@pytest.mark.parametrize(
    ("scope", "kind", "namespace", "is_responsible"),
    [
        (WatchScope(NOTES), NOTES, "x", True),
        (WatchScope(NOTES, "x"), NOTES, "x", True),
        (WatchScope(NOTES, "x"), NOTES, "y", False),
        (WatchScope(NOTES), CONFIG_MAPS, "x", False),
    ],
)
async def test_an_informer_is_responsible_for_its_kind_and_namespace(
    scope: WatchScope[Note], kind: object, namespace: str, is_responsible: bool, clock: VirtualClock
) -> None:
    metrics, rng = InformerMetrics(CollectorRegistry()), Random(7)
    informer = Informer(ScriptedSource(clock), scope, metrics, clock, rng)
    result = informer.is_responsible_for(kind, namespace)  # type: ignore[arg-type] # any kind
    assert result is is_responsible


async def test_the_informer_measures_how_long_the_server_has_been_silent(
    clock: VirtualClock,
) -> None:
    source = ScriptedSource(clock).add_lists(listing(10))
    metrics, rng = InformerMetrics(CollectorRegistry()), Random(7)
    informer: Informer[Note] = Informer(source, WatchScope(NOTES), metrics, clock, rng)
    assert informer.silent_seconds() == float("inf")
    async with delivering(informer):
        await clock.advance(7)
        assert informer.silent_seconds() == 7.0


# Our own writes.


async def test_an_own_write_is_stored_at_once_and_delivered_once(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    informer.observe_write(new_note("a", 11))
    assert stored(informer) == ["a@11"]
    informer.handle_change(put_change(new_note("a", 11)))
    assert await delivered(informer, recorder) == ["new a@11"]


async def test_events_older_than_an_own_write_are_not_delivered(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.observe_write(new_note("a", 13))
    informer.handle_change(put_change(new_note("a", 11)))
    informer.handle_change(put_change(new_note("a", 12)))
    assert stored(informer) == ["a@13"]
    informer.handle_change(put_change(new_note("a", 14)))
    assert (await delivered(informer, recorder))[1:] == ["a@1 became a@13", "a@13 became a@14"]


async def test_the_result_of_an_own_write_that_the_watch_already_reported_is_ignored(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    """Check an own write whose object another client deleted before the writing task continued."""
    informer.replace(listing(10))
    informer.handle_change(put_change(new_note("a", 11)))
    informer.handle_change(deleted_change("a", 12))
    informer.observe_write(new_note("a", 11))
    assert stored(informer) == []
    assert await delivered(informer, recorder) == ["new a@11", "gone a@12"]


async def test_a_list_older_than_an_own_write_neither_removes_nor_overwrites_it(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("changed", 1)))
    informer.observe_write(new_note("changed", 31))
    informer.observe_write(new_note("created", 32))
    informer.replace(listing(20, new_note("changed", 11)))
    assert stored(informer) == ["changed@31", "created@32"]
    assert len(await delivered(informer, recorder)) == 3


async def test_a_list_newer_than_an_own_write_replaces_it(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    informer.observe_write(new_note("a", 11))
    informer.replace(listing(20))
    assert stored(informer) == []
    assert await delivered(informer, recorder) == ["new a@11", "gone a@11"]


async def test_an_own_write_before_the_first_list_survives_an_older_list(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.observe_write(new_note("a", 12))
    informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
    assert stored(informer) == ["a@12", "b@2"]
    assert await delivered(informer, recorder) == ["new a@12", "new b@2 (backlog)"]


async def test_a_handler_added_between_first_write_and_first_list_gets_both(
    informer: Informer[Note],
) -> None:
    informer.observe_write(new_note("a", 12))
    late = RecordingHandler()
    informer.subscribe(late)
    informer.replace(listing(10, new_note("b", 2)))
    assert await delivered(informer, late) == ["new a@12 (backlog)", "new b@2 (backlog)"]


async def test_an_own_delete_is_stored_at_once_and_delivered_once(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.observe_delete(note_key("a"), "uid-a")
    assert stored(informer) == []
    informer.handle_change(deleted_change("a", 11))
    assert (await delivered(informer, recorder))[1:] == ["gone a@1"]


async def test_events_from_before_an_own_delete_do_not_bring_the_object_back(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.observe_delete(note_key("a"), "uid-a")
    informer.handle_change(put_change(new_note("a", 11)))
    informer.replace(listing(12, new_note("a", 11)))
    informer.handle_change(put_change(new_note("a", 13)))
    informer.handle_change(deleted_change("a", 14))
    assert (await delivered(informer, recorder))[1:] == ["gone a@1"]
    assert stored(informer) == []


async def test_an_own_delete_is_remembered_after_an_older_undecodable_list(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.observe_delete(note_key("a"), "uid-a")
    informer.replace(ObjectList([], "12", "", (undecodable("a", 11),)))
    informer.handle_change(put_change(new_note("a", 13)))
    assert stored(informer) == []


async def test_an_object_that_we_deleted_before_its_first_event_is_not_stored(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    informer.observe_delete(note_key("a"), "uid-a")
    informer.handle_change(put_change(new_note("a", 11)))
    informer.handle_change(deleted_change("a", 12))
    assert await delivered(informer, recorder) == []


async def test_an_object_recreated_after_an_own_delete_is_stored(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1, "first")))
    informer.observe_delete(note_key("a"), "first")
    informer.observe_write(new_note("a", 12, "second"))
    informer.handle_change(deleted_change("a", 11, "first"))
    informer.handle_change(put_change(new_note("a", 12, "second")))
    assert stored(informer) == ["a@12"]
    assert (await delivered(informer, recorder))[1:] == ["gone a@1", "new a@12"]


async def test_a_watch_that_lags_behind_several_own_recreations_delivers_none_of_them(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    for version, uid in ((11, "first"), (13, "second")):
        informer.observe_write(new_note("a", version, uid))
        informer.observe_delete(note_key("a"), uid)
    informer.handle_change(put_change(new_note("a", 11, "first")))
    assert stored(informer) == []
    informer.handle_change(deleted_change("a", 12, "first"))
    informer.handle_change(put_change(new_note("a", 13, "second")))
    informer.handle_change(deleted_change("a", 14, "second"))
    assert await delivered(informer, recorder) == ["new a@11", "gone a@11", "new a@13", "gone a@13"]


async def test_an_own_delete_is_remembered_after_a_list_from_before_the_create(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10))
    informer.observe_write(new_note("a", 21))
    informer.observe_delete(note_key("a"), "uid-a")
    informer.replace(listing(20))
    informer.handle_change(put_change(new_note("a", 21)))
    assert stored(informer) == []


async def test_a_delete_event_of_an_old_object_does_not_remove_our_recreated_object(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1, "first")))
    informer.observe_write(new_note("a", 12, "second"))
    informer.handle_change(deleted_change("a", 11, "first"))
    assert stored(informer) == ["a@12"]
    assert (await delivered(informer, recorder))[1:] == ["a@1 became a@12"]


async def test_a_delete_response_without_a_uid_changes_nothing(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.observe_delete(note_key("a"), "")
    informer.handle_change(put_change(new_note("a", 11)))
    assert stored(informer) == ["a@11"]
    assert len(informer._pending_deletes) == 0


def event_first(informer: Informer[Note], name: str) -> None:
    informer.handle_change(put_change(new_note(name, 11)))
    informer.handle_change(deleted_change(name, 12))
    informer.observe_delete(note_key(name), f"uid-{name}")


def response_first(informer: Informer[Note], name: str) -> None:
    informer.handle_change(put_change(new_note(name, 11)))
    informer.observe_delete(note_key(name), f"uid-{name}")
    informer.handle_change(deleted_change(name, 12))


def list_first(informer: Informer[Note], name: str) -> None:
    informer.handle_change(put_change(new_note(name, 11)))
    informer.replace(listing(12))
    informer.observe_delete(note_key(name), f"uid-{name}")


@pytest.mark.parametrize("order", [event_first, response_first, list_first])
async def test_completed_own_deletes_are_forgotten(
    informer: Informer[Note], order: Callable[[Informer[Note], str], None]
) -> None:
    informer.replace(listing(10))
    for number in range(50):
        order(informer, f"n{number}")
    assert len(informer._pending_deletes) == 0


# Undecodable objects.


def reports(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("informer_unreadable_total", {"resource": str(NOTES)}) or 0


async def test_an_undecodable_object_is_reported_once_per_version(
    informer: Informer[Note], registry: CollectorRegistry
) -> None:
    object_list: ObjectList[Note] = ObjectList([], "10", "", (undecodable("a", 1),))
    informer.replace(object_list)
    informer.replace(object_list)
    informer.handle_undecodable(undecodable("a", 1))
    assert reports(registry) == 1
    informer.handle_undecodable(undecodable("a", 11))
    assert reports(registry) == 2


async def test_the_last_decodable_state_of_an_object_stays_stored(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.handle_undecodable(undecodable("a", 11))
    informer.replace(ObjectList([], "12", "", (undecodable("a", 11),)))
    assert stored(informer) == ["a@1"]
    assert (await delivered(informer, recorder))[1:] == []


async def test_an_object_recreated_as_an_undecodable_one_is_removed(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1, "first")))
    informer.replace(ObjectList([], "12", "", (undecodable("a", 11, "second"),)))
    assert stored(informer) == []
    assert (await delivered(informer, recorder))[1:] == ["gone a@1"]


async def test_an_object_that_became_undecodable_can_still_be_deleted(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.handle_undecodable(undecodable("a", 11))
    informer.handle_undecodable(undecodable("a", 12, is_deleted=True))
    assert stored(informer) == []
    assert (await delivered(informer, recorder))[1:] == ["gone a@1"]


async def test_an_undecodable_delete_event_of_an_old_object_does_not_remove_our_recreated_object(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10, new_note("a", 1, "first")))
    informer.observe_write(new_note("a", 12, "second"))
    informer.handle_undecodable(undecodable("a", 11, "first", is_deleted=True))
    assert stored(informer) == ["a@12"]


async def test_the_report_of_an_undecodable_object_is_forgotten_with_it(
    informer: Informer[Note],
) -> None:
    informer.replace(listing(10))
    for name in ("decodable again", "deleted undecodable", "deleted", "not listed"):
        informer.handle_undecodable(undecodable(name, 11))
    informer.handle_change(put_change(new_note("decodable again", 12)))
    informer.handle_undecodable(undecodable("deleted undecodable", 13, is_deleted=True))
    informer.handle_change(deleted_change("deleted", 14))
    assert list(informer._reported_versions) == [note_key("not listed")]
    informer.replace(listing(20))
    assert len(informer._reported_versions) == 0


# Subscribers.


async def test_a_late_handler_first_gets_all_existing_objects(
    informer: Informer[Note],
) -> None:
    late = RecordingHandler()
    async with delivering(informer):
        informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
        informer.subscribe(late)
        informer.handle_change(put_change(new_note("a", 11)))
    assert late.notification_texts == ["new a@1 (backlog)", "new b@2 (backlog)", "a@1 became a@11"]


async def test_changes_in_a_later_list_are_not_backlog(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10))
    informer.replace(listing(20, new_note("a", 11)))
    assert await delivered(informer, recorder) == ["new a@11"]


async def test_a_resync_delivers_all_objects_again_as_backlog(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, new_note("a", 1)))
    informer.handle_change(put_change(new_note("a", 11)))
    informer.resync()
    assert (await delivered(informer, recorder))[1:] == [
        "a@1 became a@11",
        "a@11 became a@11 (backlog)",
    ]


def handler_errors(registry: CollectorRegistry) -> float | None:
    return registry.get_sample_value("informer_handler_errors_total", {"resource": str(NOTES)})


async def test_a_handler_that_raises_loses_only_that_notification(
    informer: Informer[Note], recorder: RecordingHandler, registry: CollectorRegistry
) -> None:
    handler = RecordingHandler()

    def failing(notification: ChangeNotification[Note]) -> None:
        if notification.old is None:
            raise RuntimeError("cannot handle new objects")
        handler(notification)

    informer.subscribe(failing)
    informer.replace(listing(10, new_note("a", 1)))
    informer.handle_change(put_change(new_note("a", 11)))
    assert await delivered(informer, recorder) == ["new a@1 (backlog)", "a@1 became a@11"]
    assert handler.notification_texts == ["a@1 became a@11"]
    assert handler_errors(registry) == 1


async def test_a_handler_that_awaits_a_cancelled_task_receives_the_next_notification(
    informer: Informer[Note],
) -> None:
    handler = RecordingHandler()

    async def awaits_cancelled_task(notification: ChangeNotification[Note]) -> None:
        if notification.old is None:
            work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            work.cancel()
            await work
        handler(notification)

    informer.subscribe(awaits_cancelled_task)
    informer.replace(listing(10, new_note("a", 1)))
    informer.handle_change(put_change(new_note("a", 11)))
    assert await delivered(informer, handler) == ["a@1 became a@11"]


async def test_a_slow_handler_receives_all_notifications_in_order_and_blocks_no_other_handler(
    informer: Informer[Note], recorder: RecordingHandler, clock: VirtualClock
) -> None:
    handler = RecordingHandler()

    async def slow(notification: ChangeNotification[Note]) -> None:
        await clock.sleep(1)
        handler(notification)

    subscription = informer.subscribe(slow)
    async with delivering(informer):
        informer.replace(listing(10))
        for version in range(11, 16):
            informer.handle_change(put_change(new_note("a", version)))
        await run_ready_tasks()
        assert len(recorder.notification_texts) == 5
        assert (handler.notification_texts, len(subscription)) == ([], 4)
        await clock.advance(5)
    assert handler.notification_texts == recorder.notification_texts


async def test_many_notifications_do_not_block_the_event_loop(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    informer.replace(listing(10, *(new_note(f"n{number}", 1) for number in range(1000))))
    counts: list[int] = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        while len(recorder.notifications) < 1000:
            counts.append(len(recorder.notifications))
            await asyncio.sleep(0)
        task.cancel()
    assert len(counts) > 5


@asynccontextmanager
async def waiting_for(subscription: Subscription[Note]) -> AsyncIterator[asyncio.Task[None]]:
    async with asyncio.TaskGroup() as group:
        yield group.create_task(subscription.synced())


async def test_a_handler_is_synced_after_it_received_the_initial_list(
    informer: Informer[Note], clock: VirtualClock
) -> None:
    async def slow(_: ChangeNotification[Note]) -> None:
        await clock.sleep(1)

    subscription = informer.subscribe(slow)
    async with delivering(informer), waiting_for(subscription) as synced:
        informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
        await clock.advance(1.5)
        assert not synced.done()
        await clock.advance(0.5)
        assert synced.done()


async def test_a_handler_of_an_empty_list_is_synced_at_once(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    """Check that the block ends: it waits until the handler is synced."""
    subscription = informer.subscribe(recorder)
    async with delivering(informer), waiting_for(subscription):
        informer.replace(listing(10))


async def test_a_handler_that_raises_on_the_initial_list_becomes_synced(
    informer: Informer[Note],
) -> None:
    """Check that the block ends: it waits until the handler is synced."""

    def broken(_: ChangeNotification[Note]) -> None:
        raise RuntimeError("broken handler")

    subscription = informer.subscribe(broken)
    async with delivering(informer), waiting_for(subscription):
        informer.replace(listing(10, new_note("a", 1)))


async def test_a_handler_becomes_synced_during_endless_changes(
    informer: Informer[Note], clock: VirtualClock
) -> None:
    async def as_slow_as_the_changes(notification: ChangeNotification[Note]) -> None:
        await clock.sleep(1)
        assert notification.new is not None
        version = int(notification.new.metadata.resource_version)
        informer.handle_change(put_change(new_note("a", version + 10)))

    subscription = informer.subscribe(as_slow_as_the_changes)
    async with delivering(informer), waiting_for(subscription) as synced:
        informer.replace(listing(10, new_note("a", 1)))
        await clock.advance(5)
        assert synced.done()


async def test_notifications_pending_at_the_stop_are_dropped_without_error(
    informer: Informer[Note], clock: VirtualClock, registry: CollectorRegistry
) -> None:
    handler = RecordingHandler()

    async def slow(notification: ChangeNotification[Note]) -> None:
        await clock.sleep(1)
        handler(notification)

    informer.subscribe(slow)
    informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
    async with delivering(informer):
        pass
    await clock.advance(10)
    assert handler.notification_texts == []
    assert handler_errors(registry) == 0


@pytest.mark.parametrize("reaction", [RuntimeError("cannot stop now"), None])
async def test_a_handler_that_ignores_its_cancellation_does_not_block_the_stop(
    informer: Informer[Note], reaction: Exception | None
) -> None:
    received: list[str] = []

    async def stubborn(_: ChangeNotification[Note]) -> None:
        received.append("a notification")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if reaction is not None:
                raise reaction from None

    informer.subscribe(stubborn)
    informer.replace(listing(10, new_note("a", 1), new_note("b", 2)))
    async with asyncio.timeout(60):
        async with delivering(informer):
            pass
    assert received == ["a notification"]


async def test_a_subscription_after_the_stop_starts_no_task(
    informer: Informer[Note], recorder: RecordingHandler
) -> None:
    async with delivering(informer):
        informer.replace(listing(10, new_note("a", 1)))
    informer.subscribe(recorder)
    gc.collect()  # a delivery that was started but never awaited would be a warning here
    await run_ready_tasks()
    assert recorder.notification_texts == ["new a@1 (backlog)"]
