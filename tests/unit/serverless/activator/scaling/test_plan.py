"""Tests of the scaling plan: the number of workers that a function needs, and the next step."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.demand_history import Demand
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from serverless.activator.scaling.plan import (
    RemovalReason,
    ScalingPlan,
    ScalingSnapshot,
    desired_workers,
    next_demand_history,
    plan_scaling,
)
from shared.v1alpha1.function import FunctionSpec

NOW = 1_000_000
READY, STARTING, FAILED = WorkerState.READY, WorkerState.STARTING, WorkerState.FAILED
LOST, GOING = WorkerState.LOST, WorkerState.GOING


def a_spec(**changes: Any) -> FunctionSpec:
    fields = {"spec_name": "g1", "image": "i", "max_workers": 4, "idle_timeout_seconds": 10}
    return FunctionSpec(**{**fields, **changes})


def a_worker(number: int | None = 1, state: WorkerState = READY, **changes: Any) -> ObservedWorker:
    return ObservedWorker(name=f"w{number}", number=number, state=state, **changes)


def a_snapshot(*workers: ObservedWorker, load: int = 0, **changes: Any) -> ScalingSnapshot:
    spec = changes.pop("spec", a_spec())
    return ScalingSnapshot(
        spec=spec, load=QueueLoad(queued=load), workers=workers, now=NOW, **changes
    )


def unneeded(since: int) -> tuple[Demand, ...]:
    """Return a demand for all workers until `since`, and for none after it."""
    return Demand(99, since), Demand(0, since)


def removed(plan: ScalingPlan) -> str:
    return plan.remove.name if plan.remove else ""


@pytest.mark.parametrize(
    ("load", "spec", "desired"),
    [
        (0, {}, 0),
        (1, {}, 1),
        (3, {}, 3),
        (9, {}, 4),
        (0, {"min_workers": 2}, 2),
        (9, {"concurrency": 4}, 3),
        (8, {"concurrency": 2, "target_backlog": 2}, 2),
        (9, {"concurrency": 2, "target_backlog": 2}, 3),
        (0, {"min_workers": 6, "max_workers": 4}, 4),
    ],
)
def test_the_backlog_gives_the_number_of_workers(
    load: int, spec: dict[str, Any], desired: int
) -> None:
    assert desired_workers(a_spec(**spec), QueueLoad(queued=load)) == desired


def test_a_needed_worker_is_requested_at_once() -> None:
    assert plan_scaling(a_snapshot(load=1)) == ScalingPlan(1, create=True)


def test_a_requested_worker_counts() -> None:
    assert plan_scaling(a_snapshot(load=1, is_creating=True)) == ScalingPlan(1)


def test_a_surplus_worker_waits_for_the_idle_timeout() -> None:
    first = plan_scaling(a_snapshot(a_worker()))
    assert (removed(first), first.requeue_after_ms) == ("", 10_000)
    second = plan_scaling(a_snapshot(a_worker(), demand_history=unneeded(NOW - 9_999)))
    assert (removed(second), second.requeue_after_ms) == ("", 1)
    assert (
        removed(plan_scaling(a_snapshot(a_worker(), demand_history=unneeded(NOW - 10_000)))) == "w1"
    )


def test_new_demand_resets_the_idle_timeout() -> None:
    busy = a_snapshot(a_worker(), load=1, demand_history=unneeded(1))
    assert (
        plan_scaling(
            replace(busy, load=QueueLoad(), demand_history=next_demand_history(busy))
        ).requeue_after_ms
        == 10_000
    )


def test_demand_lasts_until_a_snapshot_shows_its_end() -> None:
    long_ago = (Demand(1, 0),)
    assert plan_scaling(a_snapshot(a_worker(), demand_history=long_ago)).requeue_after_ms == 10_000


def test_each_worker_has_its_own_idle_timeout() -> None:
    """Check three workers, of which two were needed until a moment ago: only the third is idle."""
    history = (Demand(3, NOW - 10_000), Demand(2, NOW - 1), Demand(0, NOW - 1))
    three = [a_worker(number) for number in (1, 2, 3)]
    assert removed(plan_scaling(a_snapshot(*three, demand_history=history))) == "w1"
    second = plan_scaling(a_snapshot(*three[1:], demand_history=history))
    assert (removed(second), second.requeue_after_ms) == ("", 9_999)


def test_the_longest_idle_worker_is_removed_first_and_a_busy_worker_last() -> None:
    workers = [
        a_worker(1, idle_since=500),
        a_worker(2, idle_since=100, is_busy=True),
        a_worker(3, idle_since=200),
    ]
    assert removed(plan_scaling(a_snapshot(*workers, demand_history=unneeded(0)))) == "w3"
    assert removed(plan_scaling(a_snapshot(workers[1], demand_history=unneeded(0)))) == "w2"


def test_only_one_worker_is_removed_at_a_time() -> None:
    assert (
        removed(
            plan_scaling(a_snapshot(a_worker(1), a_worker(2, GOING), demand_history=unneeded(0)))
        )
        == ""
    )


def test_a_manually_created_worker_counts_and_is_kept() -> None:
    manual = a_worker(None, is_current=False)
    assert plan_scaling(a_snapshot(manual, load=1)) == ScalingPlan(1)
    assert removed(plan_scaling(a_snapshot(manual, demand_history=unneeded(0)))) == ""
    assert removed(plan_scaling(a_snapshot(a_worker(None, LOST)))) == ""


def test_a_worker_whose_program_fails_is_not_replaced() -> None:
    assert plan_scaling(a_snapshot(a_worker(1, FAILED), load=1)) == ScalingPlan(1)


def test_an_unschedulable_worker_is_removed_and_then_replaced() -> None:
    plan = plan_scaling(a_snapshot(a_worker(1, LOST), load=1))
    assert (removed(plan), plan.reason) == ("w1", RemovalReason.LOST)
    assert plan_scaling(a_snapshot(a_worker(1, GOING), load=1)).create


def test_outdated_workers_are_replaced_one_at_a_time_and_idle_workers_first() -> None:
    old = [a_worker(1, is_current=False, is_busy=True), a_worker(2, is_current=False)]
    plan = plan_scaling(a_snapshot(*old, load=2))
    assert (removed(plan), plan.reason) == ("w2", RemovalReason.OUTDATED)
    assert plan_scaling(a_snapshot(old[0], load=2)).create
    assert removed(plan_scaling(a_snapshot(old[0], a_worker(3, STARTING), load=2))) == ""
    assert removed(plan_scaling(a_snapshot(old[0], load=2, is_creating=True))) == ""
    assert removed(plan_scaling(a_snapshot(old[0], a_worker(3), load=2))) == "w1"


def test_an_outdated_surplus_worker_is_removed_at_once() -> None:
    assert removed(plan_scaling(a_snapshot(a_worker(1, is_current=False)))) == "w1"


states = st.sampled_from(list(WorkerState))
workers = st.builds(
    ObservedWorker,
    name=st.uuids().map(str),
    number=st.none() | st.integers(1, 99),
    state=states,
    is_current=st.booleans(),
    is_busy=st.booleans(),
    idle_since=st.integers(0, NOW),
)
specs = st.builds(
    a_spec,
    min_workers=st.integers(0, 3),
    max_workers=st.integers(1, 6),
    concurrency=st.integers(1, 3),
    target_backlog=st.integers(1, 3),
    idle_timeout_seconds=st.integers(0, 5),
)
snapshots = st.builds(
    ScalingSnapshot,
    spec=specs,
    load=st.builds(QueueLoad, queued=st.integers(0, 30), running=st.integers(0, 10)),
    workers=st.lists(workers, max_size=8, unique_by=lambda worker: worker.name).map(tuple),
    now=st.just(NOW),
    demand_history=st.lists(
        st.builds(Demand, st.integers(0, 9), st.integers(0, NOW)), max_size=4
    ).map(
        lambda demands: tuple(sorted(demands, key=lambda demand: (-demand.workers, demand.until)))
    ),
    is_creating=st.booleans(),
)


@given(snapshots)
def test_a_plan_makes_one_change_within_the_worker_limits(snapshot: ScalingSnapshot) -> None:
    plan = plan_scaling(snapshot)
    assert not (plan.create and plan.remove)
    assert plan.desired <= snapshot.spec.max_workers
    if plan.create:
        assert snapshot.worker_count < plan.desired
    if plan.remove is not None:
        assert plan.remove.is_managed
        assert plan.remove.state is not GOING
        assert len(snapshot.active_workers) == len(snapshot.workers)


@given(snapshots)
def test_a_needed_current_scheduled_worker_is_never_removed(snapshot: ScalingSnapshot) -> None:
    plan = plan_scaling(snapshot)
    if plan.reason is RemovalReason.SURPLUS:
        assert snapshot.worker_count > plan.desired
    if plan.reason is RemovalReason.OUTDATED:
        assert plan.remove
        assert not plan.remove.is_current


@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 4)), min_size=4))
def test_a_surplus_worker_is_removed_only_after_the_idle_timeout_without_demand(
    polls: list[tuple[int, int]],
) -> None:
    """Check the literal rule: the worker was not needed in any snapshot of the idle timeout."""
    snapshot, numbers = a_snapshot(*(a_worker(number) for number in range(4))), count(4)
    needed, present = list[tuple[int, int]](), 4
    for pause, load in polls:
        snapshot = replace(snapshot, now=snapshot.now + pause, load=QueueLoad(queued=load))
        needed.append((present, snapshot.now))
        plan = plan_scaling(snapshot)
        present = plan.desired
        if plan.reason is RemovalReason.SURPLUS:
            last = max(at for workers, at in needed if workers >= snapshot.worker_count)
            assert snapshot.now - last >= snapshot.spec.idle_timeout_seconds * 1000
        snapshot = replace(next_snapshot(snapshot, plan, numbers), now=snapshot.now)


@given(
    st.lists(workers.map(lambda worker: replace(worker, state=READY, is_current=True)), min_size=1)
)
def test_a_busy_worker_is_removed_only_if_no_worker_is_idle(ready: list[ObservedWorker]) -> None:
    snapshot = a_snapshot(*ready, demand_history=unneeded(0))
    plan = plan_scaling(snapshot)
    assert (plan.remove is None) == (not snapshot.removable_workers)
    if plan.remove and plan.remove.is_busy:
        assert all(worker.is_busy for worker in snapshot.removable_workers)


@given(snapshots)
def test_repeated_plans_reach_the_desired_worker_count(snapshot: ScalingSnapshot) -> None:
    """Check a simulation: units start and stop as planned; manual units may stay a surplus."""
    numbers = count(100)
    for _ in range(40):
        snapshot = next_snapshot(snapshot, plan_scaling(snapshot), numbers)
    managed = [worker for worker in snapshot.active_workers if worker.is_managed]
    assert snapshot.worker_count == max(
        plan_scaling(snapshot).desired, snapshot.worker_count - len(managed)
    )
    assert all(worker.is_current and worker.state is not LOST for worker in managed)


def next_snapshot(
    snapshot: ScalingSnapshot, plan: ScalingPlan, numbers: "count[int]"
) -> ScalingSnapshot:
    """Return the snapshot 10 seconds later, with the plan applied."""
    remaining = [worker for worker in snapshot.active_workers if worker is not plan.remove]
    started = [replace(w, state=READY) if w.state is STARTING else w for w in remaining]
    if plan.create or snapshot.is_creating:
        started.append(a_worker(next(numbers), STARTING))
    return replace(
        snapshot,
        workers=tuple(started),
        is_creating=False,
        demand_history=next_demand_history(snapshot),
        now=snapshot.now + 10_000,
    )
