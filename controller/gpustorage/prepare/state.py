"""State of a prepare and its next step, as pure functions.

An attempt is identified by its recover request; the first attempt has none. A recorded success is
never repeated. A recorded failure is repeated only on request.
"""

from enum import Enum, auto

import msgspec

from controller.gpustorage.prepare_status import DONE_PHASES, FINAL_PHASES, recorded_prepare_status
from controller.gpustorage.resources.prepare_job import attempt_id_of, has_outcome_finalizer
from controller.runtime import json_digest
from shared.k8s.job import Job
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage, PrepareSpec, PrepareStatus
from shared.v1alpha1.phases import PreparePhase


class JobAction(Enum):
    """Action on the Job, by the recorded status."""

    NONE = auto()
    START = auto()
    RELEASE = auto()  # its outcome is recorded: it may be deleted when that is requested
    DELETE = auto()


def prepare_digest(prepare: PrepareSpec) -> str:
    """Return the digest that identifies the prepare request for a later process."""
    return json_digest(msgspec.to_builtins(prepare))


def next_prepare_status(
    storage: GPUStorage, job: Job | None, failure_message: str
) -> PrepareStatus:
    """Return the status to record; `failure_message` says how the pods of a failed Job ended."""
    recorded, prepare = recorded_prepare_status(storage), storage.spec.prepare
    request = storage.metadata.annotations.get(wellknown.RECOVER_ANNOTATION, "")
    if recorded.phase == PreparePhase.SUCCEEDED:
        return recorded
    if prepare is None:
        return PrepareStatus(phase=PreparePhase.NOT_REQUESTED.value)
    if recorded.phase == PreparePhase.FAILED:
        return status_after_recover(recorded, request)
    attempt = msgspec.structs.replace(recorded, observed_digest=prepare_digest(prepare))
    status = attempt_status(attempt, job, failure_message)
    has_failed = status.phase == PreparePhase.FAILED
    return msgspec.structs.replace(status, prior_request=request) if has_failed else status


def attempt_status(recorded: PrepareStatus, job: Job | None, failure_message: str) -> PrepareStatus:
    """Return the status of an attempt whose end is not recorded yet."""
    if job is None or attempt_id_of(job) != recorded.recovered_by:
        message = "the Job disappeared before its outcome was recorded"
        return (
            failed_status(recorded, message)
            if recorded.job_name
            else with_phase(recorded, PreparePhase.PENDING)
        )
    return status_from_job(
        msgspec.structs.replace(recorded, job_name=job.metadata.name), job, failure_message
    )


def status_from_job(recorded: PrepareStatus, job: Job, failure_message: str) -> PrepareStatus:
    """Return the status according to the Job of this attempt."""
    end = job.end_condition
    if end is not None and end.type == "Complete":
        return with_phase(recorded, PreparePhase.SUCCEEDED)
    if end is not None:
        message = ": ".join(filter(None, (end.reason, end.message, failure_message)))
        return failed_status(recorded, message)
    if job.metadata.deletion_timestamp is not None:
        return failed_status(recorded, "the Job was deleted before it finished")
    is_running = job.status.ready > 0 or recorded.phase == PreparePhase.RUNNING
    return with_phase(recorded, PreparePhase.RUNNING if is_running else PreparePhase.PENDING)


def status_after_recover(recorded: PrepareStatus, request: str) -> PrepareStatus:
    """Return the status of a new attempt if the recover request came after the failure."""
    if request in ("", recorded.recovered_by, recorded.prior_request):
        return recorded
    next_attempt = msgspec.structs.replace(
        recorded, recovered_by=request, prior_request="", job_name="", message=""
    )
    return with_phase(next_attempt, PreparePhase.PENDING)


def failed_status(recorded: PrepareStatus, message: str) -> PrepareStatus:
    return with_phase(msgspec.structs.replace(recorded, message=message), PreparePhase.FAILED)


def with_phase(recorded: PrepareStatus, phase: PreparePhase) -> PrepareStatus:
    """Return the status in this phase; a recovery has the phase of the attempt that it started."""
    recovery = phase.value if recorded.recovered_by else ""
    return msgspec.structs.replace(recorded, phase=phase.value, recovery_phase=recovery)


def next_job_action(recorded: PrepareStatus, job: Job | None) -> JobAction:
    """Return the permitted action on the Job, now that this status is recorded."""
    if job is None:
        is_due = recorded.phase not in FINAL_PHASES and not recorded.job_name
        return JobAction.START if is_due else JobAction.NONE
    if recorded.phase in DONE_PHASES or attempt_id_of(job) != recorded.recovered_by:
        return JobAction.DELETE
    if recorded.phase == PreparePhase.FAILED and has_outcome_finalizer(job):
        return JobAction.RELEASE
    return JobAction.NONE
