"""What the benchmarks see of units and their pods."""

from tests.bench.controller.first_seen import (
    Condition,
    Item,
    Metadata,
    Sightings,
    Spec,
    Status,
    ready_unit,
    unit_of_bound_pod,
    unit_of_ready_pod,
)

LABELS = {"runtime.lokiwager.io/unit": "a"}


async def test_the_first_sighting_counts() -> None:
    sightings = Sightings(ready_unit, wanted=2)
    for number, (name, phase) in enumerate(
        [("a", "Progressing"), ("a", "Ready"), ("a", "Ready"), ("b", "Ready")]
    ):
        assert not sightings.complete.is_set()
        sightings.note(Item(Metadata(name), status=Status(phase)), float(number))
    assert sightings.at == {"a": 1.0, "b": 3.0}
    assert sightings.complete.is_set()


def test_a_pod_is_bound_once_it_has_a_node() -> None:
    assert unit_of_bound_pod(Item(Metadata("x", LABELS))) is None
    assert unit_of_bound_pod(Item(Metadata("x", LABELS), Spec("gpu-1"))) == "a"
    assert unit_of_bound_pod(Item(Metadata("x"), Spec("gpu-1"))) is None


def test_a_pod_runs_once_it_says_so() -> None:
    for status, expected in (("False", None), ("True", "a")):
        item = Item(Metadata("x", LABELS), status=Status(conditions=[Condition("Ready", status)]))
        assert unit_of_ready_pod(item) == expected
