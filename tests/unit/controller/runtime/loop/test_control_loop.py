"""Tests of the control loop: its reaction to each result of a reconcile."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.errors import StatusError
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import ControlLoop, LoopOptions
from controller.runtime.loop.metrics import LabelledLoopMetrics, LoopMetrics
from controller.runtime.loop.reconcile import ReconcileError, Result, TerminalError, reconcile_id
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.ratelimit import ExponentialBackoff
from controller.runtime.queue.workqueue import WorkQueue
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks

A, B, C = (ObjectKey("space", name) for name in "abc")
FIRST_BACKOFF = 0.005

Action = Callable[[], Awaitable[Result]]


class Scripted:
    """Reconciler that runs a scripted action per key, and records the keys."""

    def __init__(self) -> None:
        self.actions: dict[ObjectKey, Action] = {}
        self.started: list[ObjectKey] = []
        self.ended: list[ObjectKey] = []

    async def reconcile(self, key: ObjectKey) -> Result:
        self.started.append(key)
        result = await self.actions.get(key, done)()
        self.ended.append(key)
        return result


class Bench:
    """Control loop on a virtual clock, with its metrics."""

    def __init__(self, workers: int = 1) -> None:
        self.clock = VirtualClock()
        self.queue = WorkQueue(ExponentialBackoff[ObjectKey](), self.clock)
        self.reconciler = Scripted()
        self.registry = CollectorRegistry()
        self.stop = asyncio.Event()
        self.options = LoopOptions(
            "things",
            workers,
            reconcile_timeout_seconds=60.0,
            cancel_grace_seconds=5.0,
            drain_timeout_seconds=20.0,
        )
        self.loop = ControlLoop(
            self.options,
            self.queue,
            self.reconciler,
            LabelledLoopMetrics(LoopMetrics(self.registry), "things"),
            self.clock,
            Random(1),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.loop.run(self.stop))
            await run_ready_tasks()
            yield
            self.stop.set()
            await self.clock.advance(self.options.drain_timeout_seconds)

    async def reconcile(
        self, key: ObjectKey, action: Action, priority: Priority = Priority.CHANGED
    ) -> None:
        """Run `action` in the running loop as the reconcile of `key`."""
        self.reconciler.actions[key] = action
        self.queue.add(key, priority)
        await run_ready_tasks()

    def count(self, series: str, **labels: str) -> float:
        value = self.registry.get_sample_value(
            f"controller_runtime_{series}", {"controller": "things", **labels}
        )
        assert value is not None, series
        return value


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def done() -> Result:
    return Result()


def failing(error: BaseException) -> Action:
    async def action() -> Result:
        raise error

    return action


def requeueing(seconds: float, priority: Priority | None = None) -> Action:
    async def action() -> Result:
        return Result(requeue_after=seconds, priority=priority)

    return action


async def hanging() -> Result:
    await asyncio.Event().wait()
    return Result()


def stubborn(release: asyncio.Event) -> Action:
    """Return a reconcile that swallows every cancellation until it is released."""

    async def action() -> Result:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return Result()

    return action


class TestOutcomes:
    async def test_a_key_that_is_added_is_reconciled(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, done)
        assert bench.reconciler.ended == [A]
        assert bench.count("reconcile_total", result="success") == 1

    async def test_success_ends_the_back_off(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(ReconcileError("not yet")))
            bench.reconciler.actions[A] = done
            await bench.clock.advance(FIRST_BACKOFF)
            assert bench.reconciler.ended == [A]
            assert bench.queue.failures(A) == 0

    async def test_an_error_is_retried_with_growing_back_off(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(ReconcileError("not yet")))
            for attempts, seconds in enumerate((0.005, 0.01, 0.02), start=1):
                await bench.clock.advance(seconds - 0.001)
                assert len(bench.reconciler.started) == attempts
                await bench.clock.advance(0.001)
                assert len(bench.reconciler.started) == attempts + 1
            assert bench.queue.failures(A) == 4
        assert bench.count("reconcile_total", result="error") == 4
        assert bench.count("reconcile_errors_total") == 4
        assert bench.count("reconcile_panics_total") == 0

    async def test_a_requeue_comes_at_its_time_without_back_off(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, requeueing(30.0))
            await bench.clock.advance(29.9)
            assert len(bench.reconciler.started) == 1
            await bench.clock.advance(0.1)
            assert len(bench.reconciler.started) == 2
            assert bench.queue.failures(A) == 0
        assert bench.count("reconcile_total", result="requeue_after") == 2

    async def test_a_requeue_ends_the_back_off(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(ReconcileError("not yet")))
            bench.reconciler.actions[A] = requeueing(30.0)
            await bench.clock.advance(FIRST_BACKOFF)
            assert bench.queue.failures(A) == 0

    async def test_a_terminal_error_is_reported_and_not_retried(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(TerminalError("the name is too long")))
            await bench.clock.advance(3600.0)
        assert bench.reconciler.started == [A]
        assert bench.count("terminal_reconcile_errors_total") == 1
        assert bench.count("reconcile_errors_total") == 1
        assert [record.message for record in caplog.records] == ["reconcile_given_up"]

    async def test_a_terminal_error_leaves_no_back_off_behind(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(ReconcileError("not yet")))
            bench.reconciler.actions[A] = failing(TerminalError("never"))
            await bench.clock.advance(FIRST_BACKOFF)
            assert bench.queue.failures(A) == 0

    async def test_a_key_changed_after_a_terminal_error_is_reconciled_again(
        self, bench: Bench
    ) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(TerminalError("never")))
            await bench.reconcile(A, done)
        assert bench.reconciler.ended == [A]

    async def test_a_group_of_terminal_errors_is_terminal(self, bench: Bench) -> None:
        both = ExceptionGroup("both", [TerminalError("one"), TerminalError("two")])
        async with bench.running():
            await bench.reconcile(A, failing(both))
            await bench.clock.advance(3600.0)
        assert bench.reconciler.started == [A]

    async def test_a_group_with_one_error_to_retry_is_retried(self, bench: Bench) -> None:
        mixed = ExceptionGroup("both", [TerminalError("one"), StatusError("conflict", status=409)])
        async with bench.running():
            await bench.reconcile(A, failing(mixed))
            await bench.clock.advance(FIRST_BACKOFF)
        assert bench.reconciler.started == [A, A]
        assert bench.count("reconcile_panics_total") == 0

    async def test_a_key_added_during_its_reconcile_runs_once_more(self, bench: Bench) -> None:
        release = asyncio.Event()

        async def waiting() -> Result:
            await release.wait()
            return Result()

        async with bench.running():
            await bench.reconcile(A, waiting)
            bench.queue.add(A)
            bench.queue.add(A)
            await run_ready_tasks()
            assert bench.reconciler.started == [A]
            release.set()
            await run_ready_tasks()
            assert bench.reconciler.ended == [A, A]


class TestPriorities:
    @pytest.mark.parametrize(
        ("action", "seconds"),
        [(failing(ReconcileError("no")), FIRST_BACKOFF), (requeueing(30.0), 30)],
    )
    async def test_a_retried_or_requeued_key_keeps_its_priority(
        self, bench: Bench, action: Action, seconds: float
    ) -> None:
        async with bench.running():
            await bench.reconcile(A, action, Priority.BACKLOG)
            await self.occupy_then_pass(bench, seconds)
            assert bench.queue.priority(A) is Priority.BACKLOG

    async def test_a_result_can_set_another_priority(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, requeueing(30.0, Priority.CHANGED), Priority.BACKLOG)
            await self.occupy_then_pass(bench, 30.0)
            assert bench.queue.priority(A) is Priority.CHANGED

    async def occupy_then_pass(self, bench: Bench, seconds: float) -> None:
        bench.reconciler.actions[A] = hanging
        await bench.clock.advance(seconds)
        assert bench.reconciler.started == [A, A]


class TestErrors:
    async def test_an_unexpected_exception_is_counted_as_a_panic_and_retried(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(ZeroDivisionError("a bug")))
            await bench.clock.advance(FIRST_BACKOFF)
            await bench.reconcile(B, done)
        assert bench.reconciler.started == [A, A, B]
        assert bench.count("reconcile_panics_total") == 2
        assert caplog.records[0].message == "reconcile_broken"
        assert caplog.records[0].exc_info is not None

    async def test_an_api_error_is_not_counted_as_a_panic(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(StatusError("etcd is slow", status=500)))
        assert bench.count("reconcile_errors_total") == 1
        assert bench.count("reconcile_panics_total") == 0

    async def test_an_unrequested_cancellation_is_an_error(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(asyncio.CancelledError()))
            await bench.reconcile(B, done)
        assert bench.reconciler.ended == [B]
        assert bench.count("reconcile_panics_total") == 1

    async def test_reconciles_without_an_await_do_not_block_the_event_loop(
        self, bench: Bench
    ) -> None:
        for number in range(1000):
            bench.queue.add(ObjectKey("", str(number)))
        async with bench.running():
            assert len(bench.reconciler.ended) < 100

    async def test_a_hanging_reconcile_is_cancelled_at_its_deadline_and_retried(
        self, bench: Bench
    ) -> None:
        async with bench.running():
            await bench.reconcile(A, hanging)
            await bench.clock.advance(59.9)
            assert bench.count("reconcile_timeouts_total") == 0
            await bench.clock.advance(0.1)
            assert bench.count("reconcile_timeouts_total") == 1
            assert bench.count("reconcile_errors_total") == 1
            assert bench.count("reconcile_panics_total") == 0
            bench.reconciler.actions[A] = done
            await bench.clock.advance(FIRST_BACKOFF)
        assert bench.reconciler.ended == [A]

    async def test_each_reconcile_timeout_is_counted(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, hanging)
            await bench.clock.advance(2 * 60.0 + FIRST_BACKOFF)
            assert bench.count("reconcile_timeouts_total") == 2

    async def test_a_timeout_error_of_the_reconciler_is_not_counted_as_a_reconcile_timeout(
        self, bench: Bench
    ) -> None:
        async with bench.running():
            await bench.reconcile(A, failing(TimeoutError()))
        assert bench.count("reconcile_timeouts_total") == 0
        assert bench.count("reconcile_errors_total") == 1

    async def test_a_result_after_the_deadline_is_accepted(self, bench: Bench) -> None:
        async def late() -> Result:
            try:
                await hanging()
            except asyncio.CancelledError:
                return Result()
            raise AssertionError

        async with bench.running():
            await bench.reconcile(A, late)
            await bench.clock.advance(60.0)
        assert bench.count("reconcile_timeouts_total") == 1
        assert bench.count("reconcile_total", result="success") == 1


class TestStubbornReconciles:
    async def test_a_worker_lost_to_a_reconcile_that_ignores_cancellation_is_replaced(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        release = asyncio.Event()
        async with bench.running():
            await bench.reconcile(A, stubborn(release))
            await bench.reconcile(B, done)
            await bench.clock.advance(60.0 + 4.9)
            assert bench.reconciler.ended == []
            await bench.clock.advance(0.1)
            assert bench.reconciler.ended == [B]
            assert "reconcile_ignores_cancellation" in [rec.message for rec in caplog.records]
            release.set()

    async def test_a_key_is_not_reconciled_again_while_its_reconcile_hangs(
        self, bench: Bench
    ) -> None:
        release = asyncio.Event()
        async with bench.running():
            await bench.reconcile(A, stubborn(release))
            await bench.clock.advance(65.0)
            bench.queue.add(A)
            await run_ready_tasks()
            assert bench.reconciler.started == [A]
            release.set()
            await run_ready_tasks()
            assert bench.reconciler.started == [A, A]

    async def test_the_worker_count_returns_to_the_configured_number_after_a_hanging_reconcile_ends(
        self, bench: Bench
    ) -> None:
        release = asyncio.Event()
        async with bench.running():
            await bench.reconcile(A, stubborn(release))
            await bench.clock.advance(65.0)
            release.set()
            await run_ready_tasks()
            await bench.reconcile(B, hanging)
            await bench.reconcile(C, hanging)
            assert bench.reconciler.started == [A, B]
            assert bench.count("active_workers") == 1

    async def test_a_stopping_loop_waits_for_a_hanging_reconcile_and_starts_no_replacement(
        self, bench: Bench
    ) -> None:
        release = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            run = group.create_task(bench.loop.run(bench.stop))
            await bench.reconcile(A, stubborn(release))
            await bench.reconcile(B, done)
            bench.stop.set()
            await bench.clock.advance(3600.0)
            assert not run.done()
            release.set()
            await run_ready_tasks()
            assert run.done()
        assert bench.reconciler.started == [A]


class TestWorkers:
    async def test_the_number_of_concurrent_reconciles_is_the_number_of_workers(self) -> None:
        bench = Bench(workers=2)
        async with bench.running():
            for key in (A, B, C):
                await bench.reconcile(key, hanging)
            assert bench.reconciler.started == [A, B]
            assert bench.count("active_workers") == 2
            assert bench.count("max_concurrent_reconciles") == 2

    async def test_other_keys_are_reconciled_while_one_key_hangs(self) -> None:
        bench = Bench(workers=2)
        async with bench.running():
            await bench.reconcile(A, hanging)
            await bench.reconcile(B, done)
            await bench.reconcile(C, done)
            assert bench.reconciler.ended == [B, C]


class TestStopping:
    async def test_a_stopping_loop_waits_for_a_running_reconcile(self, bench: Bench) -> None:
        async def slow() -> Result:
            await bench.clock.sleep(10.0)
            return Result()

        async with asyncio.TaskGroup() as group:
            run = group.create_task(bench.loop.run(bench.stop))
            await bench.reconcile(A, slow)
            bench.stop.set()
            await bench.clock.advance(9.9)
            assert not run.done()
            await bench.clock.advance(0.1)
            assert run.done()
        assert bench.reconciler.ended == [A]

    async def test_queued_keys_are_not_started_after_a_stop(self, bench: Bench) -> None:
        async with bench.running():
            await bench.reconcile(A, hanging)
            await bench.reconcile(B, done)
        assert bench.reconciler.started == [A]

    async def test_a_reconcile_that_does_not_end_in_time_is_cancelled(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with asyncio.TaskGroup() as group:
            run = group.create_task(bench.loop.run(bench.stop))
            await bench.reconcile(A, hanging)
            bench.stop.set()
            await bench.clock.advance(19.9)
            assert not run.done()
            await bench.clock.advance(0.1)
            assert run.done()
        assert caplog.records[-1].message == "reconciles_cancelled"
        assert bench.count("reconcile_timeouts_total") == 0
        assert bench.count("reconcile_errors_total") == 0
        assert bench.count("active_workers") == 0

    async def test_an_idle_loop_stops_at_once(self, bench: Bench) -> None:
        async with asyncio.TaskGroup() as group:
            run = group.create_task(bench.loop.run(bench.stop))
            await run_ready_tasks()
            bench.stop.set()
            await run_ready_tasks()
            assert run.done()

    async def test_a_cancelled_loop_cancels_its_reconciles_without_waiting(
        self, bench: Bench
    ) -> None:
        async with asyncio.TaskGroup() as group:
            run = group.create_task(bench.loop.run(bench.stop))
            await bench.reconcile(A, hanging)
            run.cancel()
            await run_ready_tasks()
            assert run.cancelled()
        assert bench.count("active_workers") == 0

    async def test_a_cancelled_worker_ends_if_its_reconcile_swallows_the_cancellation(
        self, bench: Bench
    ) -> None:
        async def swallowing() -> Result:
            try:
                await hanging()
            except asyncio.CancelledError:
                return Result(requeue_after=1.0)
            raise AssertionError

        async with asyncio.TaskGroup() as group:
            run = group.create_task(bench.loop.run(bench.stop))
            await bench.reconcile(A, swallowing)
            run.cancel()
            await run_ready_tasks()
            assert run.cancelled()


class TestReconcileId:
    async def test_each_reconcile_has_its_own_id(self, bench: Bench) -> None:
        ids = []

        async def recording() -> Result:
            ids.append(reconcile_id())
            return Result()

        async with bench.running():
            await bench.reconcile(A, recording)
            await bench.reconcile(A, recording)
        assert len(set(ids)) == 2
        assert all(len(identifier) == 8 and int(identifier, 16) for identifier in ids)

    async def test_there_is_no_reconcile_id_outside_of_a_reconcile(self) -> None:
        assert reconcile_id() == ""

    async def test_log_lines_name_the_reconcile_its_object_and_the_controller(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        ids = []

        async def recording() -> Result:
            ids.append(reconcile_id())
            raise ReconcileError("the disk is full")

        with caplog.at_level(logging.INFO):
            async with bench.running():
                await bench.reconcile(A, recording)
        log_fields = vars(caplog.records[0])
        assert log_fields["message"] == "reconcile_failed"
        assert log_fields["error"] == "the disk is full"
        assert log_fields["reconcileID"] == ids[0]
        assert log_fields["object"] == "space/a"
        assert log_fields["controller"] == "things"


class TestMetrics:
    async def test_all_time_series_exist_before_the_first_reconcile(self, bench: Bench) -> None:
        for series in (
            "reconcile_errors_total",
            "terminal_reconcile_errors_total",
            "reconcile_panics_total",
            "reconcile_timeouts_total",
            "active_workers",
            "reconcile_time_seconds_count",
        ):
            assert bench.count(series) == 0
        for result in ("success", "error", "requeue_after"):
            assert bench.count("reconcile_total", result=result) == 0

    async def test_the_duration_of_each_reconcile_is_observed(self, bench: Bench) -> None:
        async def slow() -> Result:
            await bench.clock.sleep(0.3)
            return Result()

        async with bench.running():
            await bench.reconcile(A, slow)
            await bench.clock.advance(0.3)
        assert bench.count("reconcile_time_seconds_sum") == 0.3
        assert bench.count("reconcile_time_seconds_bucket", le="0.25") == 0
        assert bench.count("reconcile_time_seconds_bucket", le="0.3") == 1


def test_the_text_of_a_key_is_that_of_kubectl() -> None:
    assert str(ObjectKey("space", "a")) == "space/a"
    assert str(ObjectKey("", "node-1")) == "node-1"
