"""Tests of the unit status: it follows from the observation, and is equal without a change."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import (
    ServiceAddress,
    active_unit_readiness,
    next_status,
    stock_unit_readiness,
)
from controller.gpuunit.workload import Workload
from shared.k8s.pod import Pod
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason
from tests.support.builders.gpu_units import new_unit
from tests.support.builders.workloads import (
    READY_NODES,
    new_node,
    new_pod,
    new_workload,
    pending_pod,
    running_pod,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
PULLING = UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, "ErrImagePull: not found")
BACKING_OFF = UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, "ImagePullBackOff: waiting")
STARTING = UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, "the pod is being started")
RUNNING = UnitReadiness.ready(UnitReason.UNIT_READY, "the unit runs on node gpu-0")


def reported(
    unit: GPUUnit, *readinesses: UnitReadiness, workload: Workload | None = None
) -> GPUUnit:
    """Return the unit after the status of each readiness was written."""
    for readiness in readinesses:
        status = next_status(
            unit, readiness, None, workload or new_workload(), ServiceAddress(), NOW
        )
        unit = msgspec.structs.replace(unit, status=status)
    return unit


def test_a_unit_with_a_ready_pod_is_ready() -> None:
    assert active_unit_readiness(new_workload(running_pod()), READY_NODES) == RUNNING


def test_a_unit_on_a_node_that_is_not_ready_is_not_ready_although_its_pod_is() -> None:
    readiness = active_unit_readiness(new_workload(running_pod()), {"gpu-0": new_node(ready=False)})
    assert (readiness.phase, readiness.reason) == (UnitPhase.PROGRESSING, UnitReason.NODE_LOST)
    assert readiness.message.startswith("node gpu-0 is not ready")


def test_a_unit_with_only_an_old_pod_is_not_ready() -> None:
    assert active_unit_readiness(new_workload(previous=(running_pod(),)), READY_NODES) == STARTING


def test_a_problem_is_reported_before_progress() -> None:
    readiness = active_unit_readiness(new_workload(pending_pod()), READY_NODES)
    assert readiness.reason is UnitReason.POD_UNSCHEDULABLE


@pytest.mark.parametrize(
    ("claimed_by", "is_listed", "reason"),
    [
        (None, True, UnitReason.STOCK_READY),
        (None, False, UnitReason.STOCK_NOT_READY),
        ("mine", True, UnitReason.STOCK_CLAIMED),
        ("", False, UnitReason.STOCK_CLAIMED),
    ],
)
def test_stock_is_ready_once_it_is_listed_and_until_it_is_claimed(
    claimed_by: str | None, is_listed: bool, reason: UnitReason
) -> None:
    readiness = stock_unit_readiness(
        new_workload(running_pod()), READY_NODES, claiming_unit_name=claimed_by, is_listed=is_listed
    )
    assert readiness.reason is reason


def test_claimed_stock_that_does_not_run_reports_it() -> None:
    readiness = stock_unit_readiness(
        new_workload(pending_pod()), READY_NODES, claiming_unit_name="mine", is_listed=True
    )
    assert readiness.reason is UnitReason.POD_UNSCHEDULABLE


def test_the_complete_status_of_a_ready_unit() -> None:
    address = ServiceAddress("unit-one", "http://unit-one")
    status = next_status(new_unit(), RUNNING, None, new_workload(running_pod()), address, NOW)
    (condition,) = status.conditions
    assert msgspec.structs.replace(status, conditions=()) == GPUUnitStatus(
        phase="Ready",
        ready_replicas=1,
        last_sync_time="2026-01-01T00:00:00Z",
        service_name="unit-one",
        access_url="http://unit-one",
    )
    assert (condition.status, condition.reason, condition.message) == (
        "True",
        "UnitReady",
        "the unit runs on node gpu-0",
    )


@pytest.mark.parametrize("readiness", [STARTING, RUNNING, PULLING])
def test_the_unit_status_does_not_change_with_time_alone(readiness: UnitReadiness) -> None:
    unit = reported(new_unit(), readiness)
    assert (
        next_status(unit, readiness, None, new_workload(), ServiceAddress(), LATER) == unit.status
    )


def test_the_transition_time_changes_only_with_the_condition_status() -> None:
    unit = reported(new_unit(), STARTING)
    failed = next_status(unit, PULLING, None, new_workload(), ServiceAddress(), LATER)
    ready = next_status(unit, RUNNING, None, new_workload(), ServiceAddress(), LATER)
    assert failed.conditions[0].last_transition_time == "2026-01-01T00:00:00Z"
    assert ready.conditions[0].last_transition_time == "2026-01-01T01:00:00Z"
    assert failed.last_sync_time == "2026-01-01T01:00:00Z"


def test_image_pull_back_off_does_not_replace_the_pull_error() -> None:
    unit = reported(new_unit(), PULLING)
    assert reported(unit, BACKING_OFF, PULLING, BACKING_OFF).status == unit.status


def test_image_pull_back_off_is_reported_if_the_error_was_not_seen() -> None:
    message = reported(new_unit(), STARTING, BACKING_OFF).status.conditions[0].message
    assert message == BACKING_OFF.message


def test_the_observed_generation_is_that_of_the_unit() -> None:
    unit = new_unit()
    second = msgspec.structs.replace(
        unit, metadata=msgspec.structs.replace(unit.metadata, generation=2)
    )
    status = reported(second, RUNNING).status
    assert (status.observed_generation, status.conditions[0].observed_generation) == (2, 2)


@pytest.mark.parametrize(
    ("workload", "node"),
    [
        (new_workload(), ""),
        (new_workload(new_pod(node="gpu-0")), ""),
        (new_workload(new_pod(node="gpu-0", containerStatuses=[{"name": "unit"}])), "gpu-0"),
        (
            new_workload(previous=(running_pod(node="gpu-1"),)),
            "",
        ),  # its ReplicaSet is not known yet
    ],
)
def test_the_node_is_that_of_the_running_pod(workload: Workload, node: str) -> None:
    assert reported(new_unit(), STARTING, workload=workload).status.node_name == node


def test_the_node_stays_while_the_pod_of_a_rollout_waits_for_it() -> None:
    before = reported(new_unit(), RUNNING, workload=new_workload(ready_on("gpu-1")))
    rolling = new_workload(pending_pod(), previous=(running_pod(node="gpu-1"),))
    assert before.status.node_name == "gpu-1"
    assert reported(before, STARTING, workload=rolling).status.node_name == "gpu-1"
    assert reported(before, STARTING, workload=new_workload(pending_pod())).status.node_name == ""


def ready_on(node: str) -> Pod:
    return new_pod(node=node, containerStatuses=[{"name": "unit", "ready": True}])
