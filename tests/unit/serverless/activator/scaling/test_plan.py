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
    asked = {"spec_name": "g1", "image": "i", "max_workers": 4, "idle_timeout_seconds": 10}
    return FunctionSpec(**{**asked, **changes})


def a_worker(number: int | None = 1, state: WorkerState = READY, **changes: Any) -> ObservedWorker:
    return ObservedWorker(name=f"w{number}", number=number, state=state, **changes)


def a_scene(*workers: ObservedWorker, load: int = 0, **changes: Any) -> ScalingSnapshot:
    spec = changes.pop("spec", a_spec())
    return ScalingSnapshot(
        spec=spec, load=QueueLoad(queued=load), workers=workers, now=NOW, **changes
    )


def unneeded(since: int) -> tuple[Demand, ...]:
    """Return a demand for all workers until `since`, and for none after it."""
    return Demand(99, since), Demand(0, since)


def removed(wanted: ScalingPlan) -> str:
    return wanted.remove.name if wanted.remove else ""


@pytest.mark.parametrize(
    ("load", "spec", "wanted"),
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
    load: int, spec: dict[str, Any], wanted: int
) -> None:
    assert desired_workers(a_spec(**spec), QueueLoad(queued=load)) == wanted


def test_a_needed_worker_is_requested_at_once() -> None:
    assert plan_scaling(a_scene(load=1)) == ScalingPlan(1, create=True)


def test_a_requested_worker_counts() -> None:
    assert plan_scaling(a_scene(load=1, is_creating=True)) == ScalingPlan(1)


def test_a_surplus_worker_waits_for_the_idle_timeout() -> None:
    first = plan_scaling(a_scene(a_worker()))
    assert (removed(first), first.requeue_after_ms) == ("", 10_000)
    still = plan_scaling(a_scene(a_worker(), demand_history=unneeded(NOW - 9_999)))
    assert (removed(still), still.requeue_after_ms) == ("", 1)
    assert removed(plan_scaling(a_scene(a_worker(), demand_history=unneeded(NOW - 10_000)))) == "w1"


def test_new_demand_resets_the_idle_timeout() -> None:
    busy = a_scene(a_worker(), load=1, demand_history=unneeded(1))
    assert (
        plan_scaling(
            replace(busy, load=QueueLoad(), demand_history=next_demand_history(busy))
        ).requeue_after_ms
        == 10_000
    )


def test_demand_lasts_until_a_snapshot_shows_its_end() -> None:
    long_ago = (Demand(1, 0),)
    assert plan_scaling(a_scene(a_worker(), demand_history=long_ago)).requeue_after_ms == 10_000


def test_each_worker_has_its_own_idle_timeout() -> None:
    """Check three workers, of which two were needed until a moment ago: only the third is idle."""
    needs = (Demand(3, NOW - 10_000), Demand(2, NOW - 1), Demand(0, NOW - 1))
    three = [a_worker(number) for number in (1, 2, 3)]
    assert removed(plan_scaling(a_scene(*three, demand_history=needs))) == "w1"
    rest = plan_scaling(a_scene(*three[1:], demand_history=needs))
    assert (removed(rest), rest.requeue_after_ms) == ("", 9_999)


def test_the_longest_idle_worker_is_removed_first_and_a_busy_worker_last() -> None:
    workers = [
        a_worker(1, idle_since=500),
        a_worker(2, idle_since=100, is_busy=True),
        a_worker(3, idle_since=200),
    ]
    assert removed(plan_scaling(a_scene(*workers, demand_history=unneeded(0)))) == "w3"
    assert removed(plan_scaling(a_scene(workers[1], demand_history=unneeded(0)))) == "w2"


def test_only_one_worker_is_removed_at_a_time() -> None:
    assert (
        removed(plan_scaling(a_scene(a_worker(1), a_worker(2, GOING), demand_history=unneeded(0))))
        == ""
    )


def test_a_manually_created_worker_counts_and_is_kept() -> None:
    by_hand = a_worker(None, is_current=False)
    assert plan_scaling(a_scene(by_hand, load=1)) == ScalingPlan(1)
    assert removed(plan_scaling(a_scene(by_hand, demand_history=unneeded(0)))) == ""
    assert removed(plan_scaling(a_scene(a_worker(None, LOST)))) == ""


def test_a_worker_whose_program_fails_is_not_replaced() -> None:
    assert plan_scaling(a_scene(a_worker(1, FAILED), load=1)) == ScalingPlan(1)


def test_an_unschedulable_worker_is_removed_and_then_replaced() -> None:
    wanted = plan_scaling(a_scene(a_worker(1, LOST), load=1))
    assert (removed(wanted), wanted.reason) == ("w1", RemovalReason.LOST)
    assert plan_scaling(a_scene(a_worker(1, GOING), load=1)).create


def test_outdated_workers_are_replaced_one_at_a_time_and_idle_workers_first() -> None:
    old = [a_worker(1, is_current=False, is_busy=True), a_worker(2, is_current=False)]
    wanted = plan_scaling(a_scene(*old, load=2))
    assert (removed(wanted), wanted.reason) == ("w2", RemovalReason.OUTDATED)
    assert plan_scaling(a_scene(old[0], load=2)).create
    assert removed(plan_scaling(a_scene(old[0], a_worker(3, STARTING), load=2))) == ""
    assert removed(plan_scaling(a_scene(old[0], load=2, is_creating=True))) == ""
    assert removed(plan_scaling(a_scene(old[0], a_worker(3), load=2))) == "w1"


def test_an_outdated_surplus_worker_is_removed_at_once() -> None:
    assert removed(plan_scaling(a_scene(a_worker(1, is_current=False)))) == "w1"


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
scenes = st.builds(
    ScalingSnapshot,
    spec=specs,
    load=st.builds(QueueLoad, queued=st.integers(0, 30), running=st.integers(0, 10)),
    workers=st.lists(workers, max_size=8, unique_by=lambda each: each.name).map(tuple),
    now=st.just(NOW),
    demand_history=st.lists(
        st.builds(Demand, st.integers(0, 9), st.integers(0, NOW)), max_size=4
    ).map(lambda needs: tuple(sorted(needs, key=lambda each: (-each.workers, each.until)))),
    is_creating=st.booleans(),
)


@given(scenes)
def test_a_plan_makes_one_change_within_the_worker_limits(scene: ScalingSnapshot) -> None:
    wanted = plan_scaling(scene)
    assert not (wanted.create and wanted.remove)
    assert wanted.desired <= scene.spec.max_workers
    if wanted.create:
        assert scene.worker_count < wanted.desired
    if wanted.remove is not None:
        assert wanted.remove.is_managed
        assert wanted.remove.state is not GOING
        assert len(scene.active_workers) == len(scene.workers)


@given(scenes)
def test_a_needed_current_scheduled_worker_is_never_removed(scene: ScalingSnapshot) -> None:
    wanted = plan_scaling(scene)
    if wanted.reason is RemovalReason.SURPLUS:
        assert scene.worker_count > wanted.desired
    if wanted.reason is RemovalReason.OUTDATED:
        assert wanted.remove
        assert not wanted.remove.is_current


@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 4)), min_size=4))
def test_a_surplus_worker_is_removed_only_after_the_idle_timeout_without_demand(
    looks: list[tuple[int, int]],
) -> None:
    """Check the literal rule: the worker was not needed in any snapshot of the idle timeout."""
    scene, numbers = a_scene(*(a_worker(number) for number in range(4))), count(4)
    needed, present = list[tuple[int, int]](), 4
    for pause, load in looks:
        scene = replace(scene, now=scene.now + pause, load=QueueLoad(queued=load))
        needed.append((present, scene.now))
        wanted = plan_scaling(scene)
        present = wanted.desired
        if wanted.reason is RemovalReason.SURPLUS:
            last = max(at for workers, at in needed if workers >= scene.worker_count)
            assert scene.now - last >= scene.spec.idle_timeout_seconds * 1000
        scene = replace(after(scene, wanted, numbers), now=scene.now)


@given(st.lists(workers.map(lambda each: replace(each, state=READY, is_current=True)), min_size=1))
def test_a_busy_worker_is_removed_only_if_no_worker_is_idle(ready: list[ObservedWorker]) -> None:
    scene = a_scene(*ready, demand_history=unneeded(0))
    wanted = plan_scaling(scene)
    assert (wanted.remove is None) == (not scene.removable_workers)
    if wanted.remove and wanted.remove.is_busy:
        assert all(each.is_busy for each in scene.removable_workers)


@given(scenes)
def test_repeated_plans_reach_the_desired_worker_count(scene: ScalingSnapshot) -> None:
    """Check a simulation: units start and stop as planned; manual units may stay a surplus."""
    numbers = count(100)
    for _ in range(40):
        scene = after(scene, plan_scaling(scene), numbers)
    ours = [each for each in scene.active_workers if each.is_managed]
    assert scene.worker_count == max(plan_scaling(scene).desired, scene.worker_count - len(ours))
    assert all(each.is_current and each.state is not LOST for each in ours)


def after(scene: ScalingSnapshot, wanted: ScalingPlan, numbers: "count[int]") -> ScalingSnapshot:
    """Return the snapshot 10 seconds later, with the plan applied."""
    stay = [each for each in scene.active_workers if each is not wanted.remove]
    started = [replace(each, state=READY) if each.state is STARTING else each for each in stay]
    if wanted.create or scene.is_creating:
        started.append(a_worker(next(numbers), STARTING))
    return replace(
        scene,
        workers=tuple(started),
        is_creating=False,
        demand_history=next_demand_history(scene),
        now=scene.now + 10_000,
    )
