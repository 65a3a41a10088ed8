"""Tests of the work queue: deduplication, order, and times."""

import asyncio
import gc
import itertools
import weakref
from collections import Counter

import pytest

from controller.runtime.queue.delay_queue import MAX_STALE_ENTRIES
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.ratelimit import ExponentialBackoff
from controller.runtime.queue.ready_queue import PRIORITY_ROUND
from controller.runtime.queue.workqueue import QueueClosedError, WorkQueue
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks

BACKLOG, CHANGED, CHILD = Priority.BACKLOG, Priority.CHANGED, Priority.CHILD


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> WorkQueue[str]:
    return WorkQueue(ExponentialBackoff[str](), clock)


def take_all(queue: WorkQueue[str]) -> list[str]:
    """Get and finish keys until none is ready; return them in their order."""
    keys = []
    while len(queue):
        keys.append(queue.get_nowait())
        queue.done(keys[-1])
    return keys


class TestDeduplication:
    def test_keys_are_handed_out_in_the_order_of_their_adds(self, queue: WorkQueue[str]) -> None:
        for key in "abc":
            queue.add(key)
        assert take_all(queue) == ["a", "b", "c"]

    def test_a_key_added_twice_is_handed_out_once(self, queue: WorkQueue[str]) -> None:
        queue.add("a")
        queue.add("a")
        assert len(queue) == 1
        assert take_all(queue) == ["a"]

    def test_a_key_that_a_worker_has_is_not_handed_out(self, queue: WorkQueue[str]) -> None:
        queue.add("a")
        queue.get_nowait()
        queue.add("a")
        assert len(queue) == 0
        with pytest.raises(asyncio.QueueEmpty):
            queue.get_nowait()

    def test_a_key_added_during_work_is_handed_out_once_more_after_the_others(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        queue.get_nowait()
        queue.add("a")
        queue.add("a")
        queue.add("b")
        queue.done("a")
        assert take_all(queue) == ["b", "a"]

    async def test_a_waiting_getter_receives_a_key_as_soon_as_it_is_returned(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        queue.get_nowait()
        queue.add("a")
        async with asyncio.TaskGroup() as group:
            getter = group.create_task(queue.get())
            await run_ready_tasks()
            assert not getter.done()
            queue.done("a")
        assert getter.result() == "a"

    def test_returning_a_key_that_no_worker_has_changes_nothing(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        queue.done("a")
        queue.done("b")
        assert take_all(queue) == ["a"]

    def test_the_queue_keeps_no_reference_to_a_returned_key(self, clock: VirtualClock) -> None:
        class Key:
            pass

        queue = WorkQueue(ExponentialBackoff[Key](), clock)
        key = Key()
        queue.add(key)
        queue.done(queue.get_nowait())
        reference = weakref.ref(key)
        del key
        gc.collect()
        assert reference() is None

    async def test_many_workers_never_share_a_key_and_miss_none(
        self, queue: WorkQueue[str]
    ) -> None:
        running: set[str] = set()
        runs: Counter[str] = Counter()

        async def work() -> None:
            while True:
                try:
                    key = await queue.get()
                except QueueClosedError:
                    return
                assert key not in running
                running.add(key)
                await asyncio.sleep(0)
                runs[key] += 1
                running.remove(key)
                queue.done(key)

        async def produce(number: int) -> None:
            for index in range(20):
                queue.add(f"{number}-{index}", (BACKLOG, CHANGED, CHILD)[index % 3])
                queue.add("shared")
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as workers:
            for _ in range(10):
                workers.create_task(work())
            async with asyncio.TaskGroup() as producers:
                for number in range(50):
                    producers.create_task(produce(number))
            queue.close()
        assert runs.pop("shared") > 1
        assert runs == {f"{number}-{index}": 1 for number in range(50) for index in range(20)}


class TestPriorities:
    def test_the_key_with_the_higher_priority_comes_first(self, queue: WorkQueue[str]) -> None:
        queue.add("listed", BACKLOG)
        queue.add("changed")
        queue.add("parent", CHILD)
        assert take_all(queue) == ["parent", "changed", "listed"]

    def test_the_priority_of_a_key_is_that_of_its_hand_out(self, queue: WorkQueue[str]) -> None:
        queue.add("a", BACKLOG)
        queue.get_nowait()
        queue.add("a", CHILD)
        assert queue.priority("a") is BACKLOG
        queue.done("a")
        queue.get_nowait()
        assert queue.priority("a") is CHILD

    def test_a_key_that_is_not_being_processed_has_no_priority(self, queue: WorkQueue[str]) -> None:
        queue.add("a")
        with pytest.raises(KeyError):
            queue.priority("a")

    def test_a_key_with_raised_priority_is_last_in_its_new_class(
        self, queue: WorkQueue[str]
    ) -> None:
        for key in ("a", "b", "c"):
            queue.add(key, BACKLOG)
        queue.add("urgent", CHANGED)
        queue.add("b", CHANGED)
        assert len(queue) == 4
        assert take_all(queue) == ["urgent", "b", "a", "c"]

    def test_a_priority_is_never_lowered(self, queue: WorkQueue[str]) -> None:
        queue.add("a", CHILD)
        queue.add("b", CHANGED)
        queue.add("a", BACKLOG)
        assert queue.get_nowait() == "a"
        assert queue.priority("a") is CHILD

    def test_adding_a_key_with_the_same_priority_keeps_its_position(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        queue.add("b")
        queue.add("a")
        assert take_all(queue) == ["a", "b"]

    def test_the_highest_priority_of_adds_during_work_applies(self, queue: WorkQueue[str]) -> None:
        queue.add("a")
        queue.get_nowait()
        for priority in (BACKLOG, CHILD, CHANGED):
            queue.add("a", priority)
        queue.add("b", CHANGED)
        queue.done("a")
        assert queue.get_nowait() == "a"
        assert queue.priority("a") is CHILD

    def test_a_key_with_raised_priority_that_is_added_again_has_its_new_position(
        self, queue: WorkQueue[str]
    ) -> None:
        for key in ("first", "a", "b"):
            queue.add(key, BACKLOG)
        queue.add("a", CHILD)
        queue.done(queue.get_nowait())
        queue.add("a", BACKLOG)
        assert take_all(queue) == ["first", "b", "a"]

    @pytest.mark.parametrize("starving", [CHANGED, BACKLOG])
    def test_the_nth_key_of_any_class_is_handed_out_within_n_rounds(
        self, queue: WorkQueue[str], starving: Priority
    ) -> None:
        for key in ("first", "second"):
            queue.add(key, starving)
        keys = []
        for number in range(2 * len(PRIORITY_ROUND)):
            for priority in (CHILD, CHANGED, BACKLOG):
                queue.add(f"{priority.name} {number}", priority)
            keys.append(queue.get_nowait())
        assert "first" in keys[: len(PRIORITY_ROUND)]
        assert "second" in keys


class TestDelays:
    def test_a_delayed_key_is_ready_once_at_its_time(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add_after("a", 0.05)
        clock.advance_timers(0.049)
        assert len(queue) == 0
        clock.advance_timers(0.001)
        assert take_all(queue) == ["a"]
        clock.advance_timers(3600.0)
        assert len(queue) == 0

    @pytest.mark.parametrize("delays", [(0.05, 0.03), (0.03, 0.05)])
    def test_the_earliest_time_of_several_delays_applies(
        self, queue: WorkQueue[str], clock: VirtualClock, delays: tuple[float, float]
    ) -> None:
        for seconds in delays:
            queue.add_after("a", seconds)
        clock.advance_timers(0.03)
        assert take_all(queue) == ["a"]
        clock.advance_timers(0.03)
        assert len(queue) == 0

    def test_keys_become_ready_in_the_order_of_their_times(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        for key, seconds in (("third", 3.0), ("first", 1.0), ("second", 2.0)):
            queue.add_after(key, seconds)
        clock.advance_timers(3.0)
        assert take_all(queue) == ["first", "second", "third"]

    def test_a_delay_added_after_a_longer_delay_ends_at_its_time(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add_after("slow", 1.0)
        queue.add_after("quick", 0.05)
        clock.advance_timers(0.06)
        assert take_all(queue) == ["quick"]
        queue.add_after("quicker", 0.02)
        clock.advance_timers(0.94)
        assert take_all(queue) == ["quicker", "slow"]

    @pytest.mark.parametrize("seconds", [0.0, -1.0])
    def test_a_delay_in_the_past_adds_the_key_at_once(
        self, queue: WorkQueue[str], seconds: float
    ) -> None:
        queue.add_after("a", seconds)
        assert take_all(queue) == ["a"]

    def test_adding_a_key_cancels_its_delay(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add_after("a", 10.0)
        queue.add("a")
        assert take_all(queue) == ["a"]
        clock.advance_timers(10.0)
        assert len(queue) == 0

    def test_the_priority_of_a_cancelled_delay_applies(self, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 10.0, CHILD)
        queue.add("a", BACKLOG)
        queue.get_nowait()
        assert queue.priority("a") is CHILD

    def test_a_delay_of_a_ready_key_only_raises_its_priority(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add("a", BACKLOG)
        queue.add("b", CHANGED)
        queue.add_after("a", 10.0, CHILD)
        assert take_all(queue) == ["a", "b"]
        clock.advance_timers(10.0)
        assert len(queue) == 0

    def test_a_delayed_key_keeps_its_highest_priority(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add_after("a", 1.0, CHILD)
        queue.add_after("a", 2.0, BACKLOG)
        clock.advance_timers(1.0)
        queue.get_nowait()
        assert queue.priority("a") is CHILD

    def test_a_delayed_key_with_a_higher_priority_is_handed_out_first(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add("changed")
        queue.add_after("parent", 1.0, CHILD)
        clock.advance_timers(1.0)
        assert take_all(queue) == ["parent", "changed"]

    def test_a_delay_that_ends_during_work_runs_the_key_again(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add("a")
        queue.get_nowait()
        queue.add_after("a", 1.0)
        clock.advance_timers(1.0)
        assert len(queue) == 0
        queue.done("a")
        assert take_all(queue) == ["a"]

    async def test_a_waiting_getter_receives_a_delayed_key_at_its_time(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        async with asyncio.TaskGroup() as group:
            getter = group.create_task(queue.get())
            queue.add_after("a", 5.0)
            await clock.advance(4.9)
            assert not getter.done()
            await clock.advance(0.1)
        assert getter.result() == "a"

    def test_cancelled_delays_do_not_stay_in_memory_until_their_time(
        self, queue: WorkQueue[str]
    ) -> None:
        for _ in range(10 * MAX_STALE_ENTRIES):
            queue.add_after("a", 3600.0)
            queue.add("a")
            take_all(queue)
        assert len(queue._delayed._heap) <= MAX_STALE_ENTRIES + 1


class TestRateLimit:
    def test_each_failure_of_a_key_delays_it_longer(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        for seconds in (0.005, 0.01, 0.02):
            queue.add_rate_limited("a")
            clock.advance_timers(seconds - 0.001)
            assert len(queue) == 0
            clock.advance_timers(0.001)
            assert take_all(queue) == ["a"]
        assert queue.failures("a") == 3

    def test_a_forgotten_key_has_the_first_delay_again(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        for _ in range(8):
            queue.add_rate_limited("a")
        queue.forget("a")
        assert queue.failures("a") == 0
        queue.add_rate_limited("a")
        clock.advance_timers(0.005)
        assert take_all(queue) == ["a"]

    def test_the_failures_of_one_key_do_not_delay_another(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        for _ in range(7):
            queue.add_rate_limited("bad")
            clock.advance_timers(1.0)
            take_all(queue)
        queue.add_rate_limited("bad")
        queue.add_rate_limited("good")
        clock.advance_timers(0.005)
        assert take_all(queue) == ["good"]
        clock.advance_timers(0.635)
        assert take_all(queue) == ["bad"]


class TestGetters:
    async def test_the_getter_that_waits_longest_is_served_first(
        self, queue: WorkQueue[str]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(queue.get())
            second = group.create_task(queue.get())
            await run_ready_tasks()
            queue.add("a")
            queue.add("b")
            with pytest.raises(asyncio.QueueEmpty):
                queue.get_nowait()  # both keys are reserved for the waiting getters
        assert (first.result(), second.result()) == ("a", "b")

    async def test_a_cancelled_getter_takes_no_key(self, queue: WorkQueue[str]) -> None:
        async with asyncio.TaskGroup() as group:
            getter = group.create_task(queue.get())
            await run_ready_tasks()
            getter.cancel()
            queue.add("a")
        assert take_all(queue) == ["a"]
        assert not queue._getters

    @pytest.mark.parametrize("closed", [False, True])
    async def test_a_key_of_a_cancelled_getter_stays_in_the_queue(
        self, queue: WorkQueue[str], closed: bool
    ) -> None:
        async with asyncio.TaskGroup() as group:
            getter = group.create_task(queue.get())
            await run_ready_tasks()
            queue.add("a", CHILD)
            if closed:
                queue.close()
            getter.cancel()
        assert queue.get_nowait() == "a"
        assert queue.priority("a") is CHILD

    async def test_a_key_of_a_cancelled_getter_is_handed_to_the_next_getter(
        self, queue: WorkQueue[str]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(queue.get())
            second = group.create_task(queue.get())
            await run_ready_tasks()
            queue.add("a")
            first.cancel()
        assert second.result() == "a"
        assert len(queue) == 0

    async def test_the_queue_forgets_cancelled_getters(self, queue: WorkQueue[str]) -> None:
        async with asyncio.TaskGroup() as group:
            getters = [group.create_task(queue.get()) for _ in range(10)]
            await run_ready_tasks()
            for getter in getters:
                getter.cancel()
        assert not queue._getters


class TestClosing:
    def test_a_closed_queue_still_hands_out_ready_keys(self, queue: WorkQueue[str]) -> None:
        queue.add("a")
        queue.close()
        assert queue.get_nowait() == "a"
        with pytest.raises(QueueClosedError):
            queue.get_nowait()

    def test_a_closed_queue_ignores_new_keys(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.close()
        queue.add("a")
        queue.add_after("b", 1.0)
        queue.add_rate_limited("c")
        clock.advance_timers(1000.0)
        assert len(queue) == 0

    def test_a_closed_queue_drops_delayed_keys(
        self, queue: WorkQueue[str], clock: VirtualClock
    ) -> None:
        queue.add_after("a", 1.0)
        queue.close()
        clock.advance_timers(1.0)
        assert len(queue) == 0

    def test_a_closed_queue_still_hands_out_a_key_added_while_it_was_processed(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        queue.get_nowait()
        queue.add("a")
        queue.close()
        queue.done("a")
        assert take_all(queue) == ["a"]

    async def test_closing_the_queue_wakes_all_waiting_getters(self, queue: WorkQueue[str]) -> None:
        async with asyncio.TaskGroup() as group:
            getters = [group.create_task(is_closed(queue)) for _ in range(3)]
            await run_ready_tasks()
            queue.close()
            queue.close()
        assert all(getter.result() for getter in getters)

    async def test_a_getter_that_is_cancelled_after_the_close_ends_as_cancelled(
        self, queue: WorkQueue[str]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            getter = group.create_task(queue.get())
            await run_ready_tasks()
            queue.close()
            getter.cancel()
        assert getter.cancelled()

    async def test_a_queue_is_drained_when_the_last_key_is_returned(
        self, queue: WorkQueue[str]
    ) -> None:
        for key in "ab":
            queue.add(key)
            queue.get_nowait()
        async with asyncio.TaskGroup() as group:
            drained = group.create_task(queue.drain())
            await run_ready_tasks()
            queue.done("a")
            await run_ready_tasks()
            assert not drained.done()
            queue.done("b")

    async def test_an_idle_queue_is_drained_at_once_even_with_keys_ready(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        await queue.drain()
        assert len(queue) == 1

    async def test_draining_waits_for_a_key_that_is_handed_out_again(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a")
        queue.get_nowait()
        queue.add("a")
        async with asyncio.TaskGroup() as group:
            drained = group.create_task(queue.drain())
            await run_ready_tasks()
            queue.done("a")
            queue.get_nowait()
            await run_ready_tasks()
            assert not drained.done()
            queue.done("a")


async def is_closed(queue: WorkQueue[str]) -> bool:
    try:
        await queue.get()
    except QueueClosedError:
        return True
    return False


async def test_twenty_thousand_keys_reach_a_hundred_getters_once_each(
    queue: WorkQueue[str],
) -> None:
    counts: Counter[str] = Counter()

    async def work() -> None:
        while not await drain_one(queue, counts):
            pass

    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(work())
        await run_ready_tasks()
        for number, priority in zip(range(20_000), itertools.cycle(Priority), strict=False):
            queue.add(str(number), priority)
        queue.close()
    assert len(counts) == counts.total() == 20_000


async def drain_one(queue: WorkQueue[str], counts: Counter[str]) -> bool:
    try:
        key = await queue.get()
    except QueueClosedError:
        return True
    counts[key] += 1
    queue.done(key)
    return False
