"""Tests of the stored state of a prepare, and of the decision about its Job."""

from typing import Any

import msgspec
import pytest

from controller.gpustorage.prepare.state import (
    JobAction,
    next_job_action,
    next_prepare_status,
    prepare_digest,
)
from shared.k8s.job import Job
from shared.v1alpha1.gpustorage import PrepareSpec, PrepareStatus
from tests.unit.controller.gpustorage.storage_objects import (
    PREPARE_FROM_IMAGE,
    new_job,
    new_storage,
)

DIGEST = prepare_digest(PrepareSpec(from_image="example/fill:1", command=("fill",), args=("all",)))
TERMINATING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def after(recorded: dict[str, Any], job: Job | None, recover: str = "") -> PrepareStatus:
    metadata = {"annotations": {"runtime.lokiwager.io/recover": recover}} if recover else {}
    storage = new_storage(
        prepare=PREPARE_FROM_IMAGE,
        metadata=metadata,
        status={"prepare": recorded} if recorded else {},
    )
    return next_prepare_status(storage, job, "exit code 3")


def test_a_storage_without_prepare_needs_no_job() -> None:
    status = next_prepare_status(new_storage(), None, "")
    assert status == PrepareStatus(phase="NotRequested")
    assert next_job_action(status, None) is JobAction.NONE


def test_a_prepare_is_pending_until_its_job_exists() -> None:
    status = after({}, None)
    assert status == PrepareStatus(phase="Pending", observed_digest=DIGEST)
    assert next_job_action(status, None) is JobAction.START


def test_the_name_of_the_job_is_recorded_once_the_job_exists() -> None:
    assert after({"phase": "Pending"}, new_job()).job_name == "prepare-data"


@pytest.mark.parametrize(
    ("recorded", "job", "phase"),
    [
        ({"phase": "Pending"}, new_job(), "Pending"),
        ({"phase": "Pending"}, new_job(ready=1), "Running"),
        ({"phase": "Running", "jobName": "prepare-data"}, new_job(), "Running"),
        ({"phase": "Running", "jobName": "prepare-data"}, new_job("Complete"), "Succeeded"),
        ({"phase": "Running", "jobName": "prepare-data"}, new_job("Failed"), "Failed"),
        ({}, new_job("Complete"), "Succeeded"),
        ({"phase": "Running"}, new_job("Complete", **TERMINATING), "Succeeded"),
        ({"phase": "Running"}, new_job(ready=1, **TERMINATING), "Failed"),
    ],
)
def test_the_phase_of_a_prepare_follows_its_job(
    recorded: dict[str, Any], job: Job, phase: str
) -> None:
    assert after(recorded, job).phase == phase


def test_a_failed_prepare_has_the_messages_of_its_job_and_pod() -> None:
    assert (
        after({"phase": "Running"}, new_job("Failed")).message == "Why: what happened: exit code 3"
    )


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_recorded_job_that_disappeared_has_failed(phase: str) -> None:
    status = after({"phase": phase, "jobName": "prepare-data"}, None)
    assert status.phase == "Failed"
    assert "disappeared" in status.message
    assert next_job_action(status, None) is JobAction.NONE


@pytest.mark.parametrize(
    "job", [None, new_job("Failed"), new_job(recover_request="r9"), new_job(**TERMINATING)]
)
def test_a_succeeded_prepare_is_final(job: Job | None) -> None:
    recorded = {
        "phase": "Succeeded",
        "jobName": "prepare-data",
        "observedDigest": "of another spec",
    }
    status = after(recorded, job, recover="r1")
    assert (status.phase, status.observed_digest) == ("Succeeded", "of another spec")
    assert next_job_action(status, job) is (JobAction.NONE if job is None else JobAction.DELETE)


def test_a_failed_prepare_waits_for_a_recover_request() -> None:
    recorded = {"phase": "Failed", "message": "why", "jobName": "prepare-data"}
    status = after(recorded, new_job("Failed"))
    assert (status.phase, status.message) == ("Failed", "why")
    assert next_job_action(status, None) is JobAction.NONE


def test_a_failed_job_loses_its_finalizer_and_is_not_deleted() -> None:
    status = PrepareStatus(phase="Failed")
    assert next_job_action(status, new_job("Failed")) is JobAction.RELEASE
    assert next_job_action(status, new_job("Failed", has_finalizer=False)) is JobAction.NONE


def test_a_recover_request_starts_a_new_attempt() -> None:
    recorded = {"phase": "Failed", "message": "why", "jobName": "prepare-data"}
    status = after(recorded, new_job("Failed"), recover="r1")
    assert (status.phase, status.recovered_by, status.recovery_phase) == (
        "Pending",
        "r1",
        "Pending",
    )
    assert (status.job_name, status.message) == ("", "")


def test_a_repeated_recover_request_starts_no_attempt() -> None:
    recorded = {"phase": "Failed", "recoveredBy": "r1"}
    assert after(recorded, None, recover="r1").phase == "Failed"


def test_a_recover_request_during_a_running_prepare_is_ignored() -> None:
    assert after({"phase": "Running"}, new_job(ready=1), recover="r1").recovered_by == ""


@pytest.mark.parametrize("job", [new_job("Failed"), new_job(**TERMINATING), None])
def test_a_recover_request_older_than_the_failure_is_ignored(job: Job | None) -> None:
    recorded = {"phase": "Running", "jobName": "prepare-data"}
    status = after(recorded, job, recover="r1")
    assert (status.phase, status.prior_request) == ("Failed", "r1")
    assert after(msgspec.to_builtins(status), job, recover="r1").phase == "Failed"


def test_a_new_recover_request_works_after_an_ignored_one() -> None:
    recorded = {"phase": "Failed", "priorRequest": "r1"}
    status = after(recorded, None, recover="r2")
    assert (status.phase, status.recovered_by, status.prior_request) == ("Pending", "r2", "")


def test_the_job_of_an_earlier_attempt_does_not_count_for_the_current_attempt() -> None:
    recorded = {"phase": "Pending", "recoveredBy": "r1"}
    old = new_job("Complete", recover_request="")
    status = after(recorded, old)
    assert status.phase == "Pending"
    assert next_job_action(status, old) is JobAction.DELETE
    assert next_job_action(status, None) is JobAction.START


def test_a_recovery_has_the_phase_of_its_attempt() -> None:
    status = after(
        {"phase": "Pending", "recoveredBy": "r1"}, new_job("Complete", recover_request="r1")
    )
    assert (status.phase, status.recovery_phase) == ("Succeeded", "Succeeded")
