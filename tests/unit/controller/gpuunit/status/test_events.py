"""Tests of unit Events: only a change becomes an Event."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.gpuunit.status.events import ignored_fields_event, status_event
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress, next_status
from controller.gpuunit.workload import Workload
from controller.status.events import StatusEvent
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus
from shared.v1alpha1.reasons import EventReason, UnitReason
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STARTING = UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, "on its way")
READY = UnitReadiness.ready(UnitReason.UNIT_READY, "it runs")
UNSCHEDULABLE = UnitReadiness.progressing(UnitReason.POD_UNSCHEDULABLE, "no node")
FAILED = UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, "it crashed")
INVALID = UnitReadiness.failed(UnitReason.ACCESS_CONFIG_INVALID, "no such port")
CONFLICT = UnitReadiness.failed(UnitReason.CHILD_CONFLICT, "not ours")
CLAIMED = UnitReadiness.ready(UnitReason.STOCK_CLAIMED, "claimed")
READINESSES = [STARTING, READY, UNSCHEDULABLE, FAILED, INVALID, CONFLICT, CLAIMED]


def with_generation(unit: GPUUnit, generation: int) -> GPUUnit:
    meta = msgspec.structs.replace(unit.metadata, generation=generation)
    return msgspec.structs.replace(unit, metadata=meta)


def event_of(*readinesses: UnitReadiness, generations: tuple[int, ...] = ()) -> StatusEvent | None:
    """Return the Event for the change to the last of these readinesses."""
    history = [GPUUnitStatus()]
    for position, readiness in enumerate(readinesses):
        generation = generations[position] if generations else 1
        unit = msgspec.structs.replace(with_generation(new_unit(), generation), status=history[-1])
        history.append(next_status(unit, readiness, None, Workload(), ServiceAddress(), NOW))
    return status_event(*list(pairwise(history))[-1])


@pytest.mark.parametrize(
    ("readinesses", "event"),
    [
        ([STARTING], None),
        ([STARTING, READY], (False, EventReason.READY, "it runs")),
        ([UNSCHEDULABLE], (True, EventReason.NOT_READY, "PodUnschedulable: no node")),
        ([FAILED], (True, EventReason.FAILED, "PodStartupFailed: it crashed")),
        ([INVALID], (True, EventReason.INVALID_SPEC, "AccessConfigInvalid: no such port")),
        ([CONFLICT], (True, EventReason.CHILD_CONFLICT, "ChildConflict: not ours")),
        ([READY, CLAIMED], (False, EventReason.CLAIMED, "claimed")),
        ([CLAIMED, READY], None),
        ([READY, STARTING], (True, EventReason.NOT_READY, "UnitProgressing: on its way")),
        ([FAILED, STARTING], None),
    ],
)
def test_a_new_reason_causes_an_event(
    readinesses: list[UnitReadiness], event: tuple[bool, EventReason, str] | None
) -> None:
    assert event_of(*readinesses) == (None if event is None else StatusEvent(*event))


def test_a_rollout_causes_no_warning_event() -> None:
    assert event_of(READY, STARTING, generations=(1, 2)) is None


def test_a_new_message_with_the_same_reason_causes_no_event() -> None:
    other = UnitReadiness.failed(FAILED.reason, "it crashed again")
    assert event_of(FAILED, other) is None


@given(st.lists(st.sampled_from(READINESSES)), st.sampled_from(READINESSES))
def test_an_unchanged_condition_causes_no_event(
    before: list[UnitReadiness], readiness: UnitReadiness
) -> None:
    assert event_of(*before, readiness, readiness) is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"image": ""}, None),
        ({}, "stock units ignore image"),
        (
            {"template": {}, "access": {}},
            "stock units ignore image, template, access",
        ),
        (
            {"image": "", "storageMounts": [{"name": "a", "mountPath": "/a"}]},
            "stock units ignore storageMounts",
        ),
    ],
)
def test_an_event_names_the_fields_that_stock_ignores(
    spec: dict[str, Any], message: str | None
) -> None:
    event = ignored_fields_event(with_generation(new_unit(namespace=STOCK_NAMESPACE, **spec), 1))
    assert (None if event is None else event.message) == message


def test_the_event_about_ignored_fields_is_sent_once_per_generation() -> None:
    stock = with_generation(new_unit(namespace=STOCK_NAMESPACE), 1)
    reported = msgspec.structs.replace(stock, status=GPUUnitStatus(observed_generation=1))
    assert ignored_fields_event(reported) is None
    assert ignored_fields_event(with_generation(reported, 2)) is not None
