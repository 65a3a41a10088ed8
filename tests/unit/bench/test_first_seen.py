"""Tests of the benchmarks' observations of units and their pods."""

from tests.bench.controller.first_seen import (
    FirstSeenTimes,
    ObservedCondition,
    ObservedMetadata,
    ObservedObject,
    ObservedSpec,
    ObservedStatus,
    ready_unit_name,
    unit_of_bound_pod,
    unit_of_ready_pod,
)

LABELS = {"runtime.lokiwager.io/unit": "a"}


async def test_the_first_observation_of_a_unit_counts() -> None:
    first_seen = FirstSeenTimes(ready_unit_name, expected_count=2)
    for number, (name, phase) in enumerate(
        [("a", "Progressing"), ("a", "Ready"), ("a", "Ready"), ("b", "Ready")]
    ):
        assert not first_seen.all_seen.is_set()
        first_seen.record(
            ObservedObject(ObservedMetadata(name), status=ObservedStatus(phase)), float(number)
        )
    assert first_seen.seconds_by_unit == {"a": 1.0, "b": 3.0}
    assert first_seen.all_seen.is_set()


def test_a_pod_is_bound_once_it_has_a_node() -> None:
    assert unit_of_bound_pod(ObservedObject(ObservedMetadata("x", LABELS))) is None
    assert (
        unit_of_bound_pod(ObservedObject(ObservedMetadata("x", LABELS), ObservedSpec("gpu-1")))
        == "a"
    )
    assert unit_of_bound_pod(ObservedObject(ObservedMetadata("x"), ObservedSpec("gpu-1"))) is None


def test_a_pod_runs_once_it_is_ready() -> None:
    for status, expected in (("False", None), ("True", "a")):
        item = ObservedObject(
            ObservedMetadata("x", LABELS),
            status=ObservedStatus(conditions=[ObservedCondition("Ready", status)]),
        )
        assert unit_of_ready_pod(item) == expected
