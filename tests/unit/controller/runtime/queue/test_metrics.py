"""Tests of the metrics of a work queue."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from controller.runtime.queue.metrics import QueueMetrics, QueueMetricsObserver
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.ratelimit import ExponentialBackoff
from controller.runtime.queue.workqueue import WorkQueue
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks

BACKLOG, CHANGED, CHILD = Priority.BACKLOG, Priority.CHANGED, Priority.CHILD


class Bench:
    """Work queue with metrics, and their registry."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        metrics = QueueMetrics(self.registry, self.clock)
        self.queue = WorkQueue(
            ExponentialBackoff[str](), self.clock, QueueMetricsObserver(metrics, "things")
        )

    def value(self, series: str, **labels: str) -> float:
        value = self.registry.get_sample_value(
            f"workqueue_{series}", {"name": "things", "controller": "things", **labels}
        )
        assert value is not None, series
        return value

    def depth(self) -> dict[Priority, float]:
        depth = {
            priority: self.value("depth", priority=str(int(priority))) for priority in Priority
        }
        return {priority: count for priority, count in depth.items() if count}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_all_time_series_exist_before_the_first_add(bench: Bench) -> None:
    for series in (
        "adds_total",
        "retries_total",
        "queue_duration_seconds_count",
        "work_duration_seconds_count",
        "unfinished_work_seconds",
        "longest_running_processor_seconds",
    ):
        assert bench.value(series) == 0
    assert bench.depth() == {}


def test_repeated_adds_count_once(bench: Bench) -> None:
    bench.queue.add("a")
    bench.queue.add("a")
    assert bench.value("adds_total") == 1
    assert bench.depth() == {CHANGED: 1}


def test_an_add_during_work_counts_in_the_depth_until_it_is_handed_out(bench: Bench) -> None:
    bench.queue.add("a")
    bench.queue.get_nowait()
    assert bench.depth() == {}
    bench.queue.add("a")
    bench.queue.add("a")
    assert bench.value("adds_total") == 2
    assert bench.depth() == {CHANGED: 1}
    bench.queue.done("a")
    bench.queue.get_nowait()
    assert bench.depth() == {}


def test_the_queue_time_counts_from_the_first_add(bench: Bench) -> None:
    bench.queue.add("a")
    bench.clock.advance_timers(2.0)
    bench.queue.add("a")
    bench.clock.advance_timers(3.0)
    bench.queue.get_nowait()
    assert bench.value("queue_duration_seconds_sum") == 5.0
    assert bench.value("queue_duration_seconds_count") == 1


def test_the_work_time_counts_from_the_hand_out_to_the_return(bench: Bench) -> None:
    bench.queue.add("a")
    bench.clock.advance_timers(1.0)
    bench.queue.get_nowait()
    bench.clock.advance_timers(0.5)
    bench.queue.done("a")
    assert bench.value("work_duration_seconds_sum") == 0.5
    assert bench.value("work_duration_seconds_count") == 1


def test_the_age_of_running_work_is_computed_at_each_scrape(bench: Bench) -> None:
    bench.queue.add("a")
    bench.queue.get_nowait()
    bench.clock.advance_timers(2.0)
    bench.queue.add("b")
    bench.queue.get_nowait()
    bench.clock.advance_timers(1.0)
    assert bench.value("unfinished_work_seconds") == 4.0
    assert bench.value("longest_running_processor_seconds") == 3.0
    bench.queue.done("a")
    assert bench.value("unfinished_work_seconds") == 1.0
    assert bench.value("longest_running_processor_seconds") == 1.0


def test_a_raised_key_moves_to_the_depth_of_its_new_priority(bench: Bench) -> None:
    bench.queue.add("a", BACKLOG)
    bench.queue.add("a", CHILD)
    bench.queue.add("a", CHANGED)
    assert bench.depth() == {CHILD: 1}
    bench.queue.get_nowait()
    assert bench.depth() == {}


def test_a_delayed_key_counts_only_when_it_is_ready(bench: Bench) -> None:
    bench.queue.add_after("a", 1.0, BACKLOG)
    assert (bench.value("adds_total"), bench.value("retries_total")) == (0, 1)
    assert bench.depth() == {}
    bench.clock.advance_timers(1.0)
    assert bench.value("adds_total") == 1
    assert bench.depth() == {BACKLOG: 1}


def test_a_delay_of_zero_is_not_counted_as_a_retry(bench: Bench) -> None:
    bench.queue.add_after("a", 0.0)
    assert (bench.value("adds_total"), bench.value("retries_total")) == (1, 0)


def test_adding_a_delayed_key_at_a_higher_priority_counts_it_once(bench: Bench) -> None:
    bench.queue.add_after("a", 1.0, BACKLOG)
    bench.queue.add("a", CHILD)
    bench.clock.advance_timers(1.0)
    assert bench.value("adds_total") == 1
    assert bench.depth() == {CHILD: 1}


async def test_the_depth_is_correct_after_a_cancelled_getter_returns_its_key(bench: Bench) -> None:
    async with asyncio.TaskGroup() as group:
        getter = group.create_task(bench.queue.get())
        await run_ready_tasks()
        bench.queue.add("a")
        getter.cancel()
    assert bench.depth() == {CHANGED: 1}
    assert bench.value("unfinished_work_seconds") == 0.0


def test_the_bucket_labels_are_those_of_go(bench: Bench) -> None:
    bench.queue.add("a")
    bench.queue.get_nowait()
    text = generate_latest(bench.registry).decode()
    bounds = [
        line.split('le="')[1].split('"')[0]
        for line in text.splitlines()
        if line.startswith("workqueue_queue_duration_seconds_bucket")
    ]
    # fmt: off
    assert bounds == [
        "1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05", "0.001",
        "0.01", "0.1", "1.0", "10.0", "100.0", "1000.0", "+Inf",
    ]
    # fmt: on
