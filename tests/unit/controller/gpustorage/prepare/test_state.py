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
GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def after(known: dict[str, Any], job: Job | None, recover: str = "") -> PrepareStatus:
    notes = {"annotations": {"runtime.lokiwager.io/recover": recover}} if recover else {}
    storage = new_storage(
        prepare=PREPARE_FROM_IMAGE, metadata=notes, status={"prepare": known} if known else {}
    )
    return next_prepare_status(storage, job, "exit code 3")


def test_a_storage_without_prepare_needs_no_job() -> None:
    found = next_prepare_status(new_storage(), None, "")
    assert found == PrepareStatus(phase="NotRequested")
    assert next_job_action(found, None) is JobAction.NONE


def test_a_prepare_is_pending_until_its_job_exists() -> None:
    found = after({}, None)
    assert found == PrepareStatus(phase="Pending", observed_digest=DIGEST)
    assert next_job_action(found, None) is JobAction.START


def test_the_name_of_the_job_is_recorded_once_the_job_exists() -> None:
    assert after({"phase": "Pending"}, new_job()).job_name == "prepare-data"


@pytest.mark.parametrize(
    ("known", "job", "phase"),
    [
        ({"phase": "Pending"}, new_job(), "Pending"),
        ({"phase": "Pending"}, new_job(ready=1), "Running"),
        ({"phase": "Running", "jobName": "prepare-data"}, new_job(), "Running"),
        ({"phase": "Running", "jobName": "prepare-data"}, new_job("Complete"), "Succeeded"),
        ({"phase": "Running", "jobName": "prepare-data"}, new_job("Failed"), "Failed"),
        ({}, new_job("Complete"), "Succeeded"),
        ({"phase": "Running"}, new_job("Complete", **GOING), "Succeeded"),
        ({"phase": "Running"}, new_job(ready=1, **GOING), "Failed"),
    ],
)
def test_the_phase_of_a_prepare_follows_its_job(
    known: dict[str, Any], job: Job, phase: str
) -> None:
    assert after(known, job).phase == phase


def test_a_failed_prepare_has_the_messages_of_its_job_and_pod() -> None:
    assert (
        after({"phase": "Running"}, new_job("Failed")).message == "Why: what happened: exit code 3"
    )


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_recorded_job_that_disappeared_has_failed(phase: str) -> None:
    found = after({"phase": phase, "jobName": "prepare-data"}, None)
    assert found.phase == "Failed"
    assert "disappeared" in found.message
    assert next_job_action(found, None) is JobAction.NONE


@pytest.mark.parametrize(
    "job", [None, new_job("Failed"), new_job(recover_request="r9"), new_job(**GOING)]
)
def test_a_succeeded_prepare_is_final(job: Job | None) -> None:
    known = {"phase": "Succeeded", "jobName": "prepare-data", "observedDigest": "of another spec"}
    found = after(known, job, recover="r1")
    assert (found.phase, found.observed_digest) == ("Succeeded", "of another spec")
    assert next_job_action(found, job) is (JobAction.NONE if job is None else JobAction.DELETE)


def test_a_failed_prepare_waits_for_a_recover_request() -> None:
    known = {"phase": "Failed", "message": "why", "jobName": "prepare-data"}
    found = after(known, new_job("Failed"))
    assert (found.phase, found.message) == ("Failed", "why")
    assert next_job_action(found, None) is JobAction.NONE


def test_a_failed_job_loses_its_finalizer_and_is_not_deleted() -> None:
    found = PrepareStatus(phase="Failed")
    assert next_job_action(found, new_job("Failed")) is JobAction.RELEASE
    assert next_job_action(found, new_job("Failed", has_finalizer=False)) is JobAction.NONE


def test_a_recover_request_starts_a_new_attempt() -> None:
    known = {"phase": "Failed", "message": "why", "jobName": "prepare-data"}
    found = after(known, new_job("Failed"), recover="r1")
    assert (found.phase, found.recovered_by, found.recovery_phase) == ("Pending", "r1", "Pending")
    assert (found.job_name, found.message) == ("", "")


def test_a_repeated_recover_request_starts_no_attempt() -> None:
    known = {"phase": "Failed", "recoveredBy": "r1"}
    assert after(known, None, recover="r1").phase == "Failed"


def test_a_recover_request_during_a_running_prepare_is_ignored() -> None:
    assert after({"phase": "Running"}, new_job(ready=1), recover="r1").recovered_by == ""


@pytest.mark.parametrize("job", [new_job("Failed"), new_job(**GOING), None])
def test_a_recover_request_older_than_the_failure_is_ignored(job: Job | None) -> None:
    known = {"phase": "Running", "jobName": "prepare-data"}
    found = after(known, job, recover="r1")
    assert (found.phase, found.prior_request) == ("Failed", "r1")
    assert after(msgspec.to_builtins(found), job, recover="r1").phase == "Failed"


def test_a_new_recover_request_works_after_an_ignored_one() -> None:
    known = {"phase": "Failed", "priorRequest": "r1"}
    found = after(known, None, recover="r2")
    assert (found.phase, found.recovered_by, found.prior_request) == ("Pending", "r2", "")


def test_the_job_of_an_earlier_attempt_does_not_count_for_the_current_attempt() -> None:
    known = {"phase": "Pending", "recoveredBy": "r1"}
    old = new_job("Complete", recover_request="")
    found = after(known, old)
    assert found.phase == "Pending"
    assert next_job_action(found, old) is JobAction.DELETE
    assert next_job_action(found, None) is JobAction.START


def test_a_recovery_has_the_phase_of_its_attempt() -> None:
    found = after(
        {"phase": "Pending", "recoveredBy": "r1"}, new_job("Complete", recover_request="r1")
    )
    assert (found.phase, found.recovery_phase) == ("Succeeded", "Succeeded")
