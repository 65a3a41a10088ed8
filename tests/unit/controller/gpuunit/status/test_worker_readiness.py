"""Tests of worker readiness: it follows from the unit's pods; other units have none."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress, next_status
from controller.gpuunit.status.worker_readiness import (
    WorkerReadiness,
    missing_function_readiness,
    worker_readiness,
)
from controller.gpuunit.workload import Workload
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import ServerlessSpec
from shared.v1alpha1.phases import UnitPhase, WorkerPhase
from shared.v1alpha1.reasons import UnitReason, WorkerReason
from tests.support.builders.gpu_units import new_unit
from tests.support.builders.workloads import new_pod, new_workload, running_pod

ECHO = ServerlessSpec(function_name="echo")
FUNCTION = msgspec.convert(
    {"metadata": {"name": "echo"}, "spec": {"specName": "g1.1", "image": "local/echo"}}, Function
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
READY = UnitReadiness.ready(UnitReason.UNIT_READY, "the unit runs on node gpu-0")
STARTING = UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, "the pod is being started")
FAILED = UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, "ErrImagePull: not found")


def with_worker(**status: Any) -> Workload:
    """Return a workload of one pod whose sidecar has that status."""
    sidecar = [{"name": "worker", **status}]
    return new_workload(new_pod(node="gpu-0", initContainerStatuses=sidecar))


@pytest.mark.parametrize(
    ("unit_readiness", "workload", "phase", "reason"),
    [
        (READY, new_workload(running_pod()), WorkerPhase.READY, WorkerReason.WORKER_READY),
        (FAILED, with_worker(), WorkerPhase.FAILED, WorkerReason.WORKER_FAILED),
        (STARTING, with_worker(), WorkerPhase.STARTING, WorkerReason.WORKER_NOT_READY),
        (STARTING, new_workload(), WorkerPhase.PENDING, WorkerReason.WORKER_STARTING),
        (
            STARTING,
            with_worker(state={"waiting": {"reason": "PodInitializing"}}),
            WorkerPhase.PENDING,
            WorkerReason.WORKER_STARTING,
        ),
    ],
)
def test_the_phase_of_a_worker_follows_its_pod(
    unit_readiness: UnitReadiness, workload: Workload, phase: WorkerPhase, reason: WorkerReason
) -> None:
    worker = worker_readiness(ECHO, unit_readiness, workload, FUNCTION)
    assert (worker.phase, worker.reason) == (phase, reason)


def test_the_message_of_a_starting_worker_names_the_secret() -> None:
    worker = worker_readiness(ECHO, STARTING, new_workload(), FUNCTION)
    assert "Secret queue-echo" in worker.message


def test_a_worker_without_its_function_waits_for_it() -> None:
    waiting = missing_function_readiness(new_unit(serverless={"requestID": "echo"}), None)
    assert waiting is not None
    assert (waiting.phase, waiting.message) == (
        UnitPhase.PROGRESSING,
        "Function echo does not exist yet",
    )
    worker = worker_readiness(ECHO, waiting, new_workload(), None)
    assert (worker.reason, worker.message) == (WorkerReason.FUNCTION_MISSING, waiting.message)


def test_a_unit_without_a_missing_function_does_not_wait() -> None:
    assert missing_function_readiness(new_unit(), None) is None
    assert missing_function_readiness(new_unit(serverless={"requestID": "echo"}), FUNCTION) is None


def test_the_status_of_a_worker_has_its_phase_and_its_condition() -> None:
    worker = WorkerReadiness(WorkerPhase.READY, WorkerReason.WORKER_READY, "takes invocations")
    status = next_status(
        new_unit(), READY, worker, new_workload(running_pod()), ServiceAddress(), NOW
    )
    assert status.serverless is not None
    assert status.serverless.phase == "Ready"
    conditions = {item.type: (item.status, item.reason) for item in status.conditions}
    assert conditions == {
        "Ready": ("True", "UnitReady"),
        "ServerlessReady": ("True", "WorkerReady"),
    }


def test_a_unit_that_is_no_longer_a_worker_has_no_worker_condition() -> None:
    worker = WorkerReadiness(WorkerPhase.PENDING, WorkerReason.WORKER_STARTING, "soon")
    workload, unit = new_workload(running_pod()), new_unit()
    before = next_status(unit, READY, worker, workload, ServiceAddress(), NOW)
    unit = msgspec.structs.replace(unit, status=before)
    after = next_status(unit, READY, None, workload, ServiceAddress(), NOW)
    assert after.serverless is None
    assert [item.type for item in after.conditions] == ["Ready"]
