"""How far along the filling of a storage is, and what comes next: decided by values alone.

An attempt is known by the request to recover that it answers; the first answers none. What is
recorded as succeeded is never tried again, and what is recorded as failed only on request.
"""

from enum import Enum, auto
from typing import Final

import msgspec

from controller.gpustorage.resources.prepare_job import attempt_of, has_outcome_pending
from controller.runtime.digest import digest
from shared.k8s.job import Job
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage, Prepare, PrepareStatus
from shared.v1alpha1.phases import PreparePhase

DONE: Final = (PreparePhase.NOT_REQUESTED.value, PreparePhase.SUCCEEDED.value)
OVER: Final = (*DONE, PreparePhase.FAILED.value)


class Move(Enum):
    """What is to be done about the Job, by what is recorded of it."""

    NOTHING = auto()
    START = auto()
    LET_GO = auto()  # its outcome is recorded: it may go when somebody wants it to
    REMOVE = auto()


def known_prepare(storage: GPUStorage) -> PrepareStatus:
    """What is recorded."""
    return storage.status.prepare or PrepareStatus()


def digest_of(prepare: Prepare) -> str:
    """By what a later process knows that the same was asked for."""
    return digest(msgspec.to_builtins(prepare))


def next_prepare(storage: GPUStorage, job: Job | None, why: str) -> PrepareStatus:
    """What is to be recorded; `why` is how the pods of a failed Job ended."""
    known, wanted = known_prepare(storage), storage.spec.prepare
    request = storage.metadata.annotations.get(wellknown.RECOVER, "")
    if known.phase == PreparePhase.SUCCEEDED:
        return known
    if wanted is None:
        return PrepareStatus(phase=PreparePhase.NOT_REQUESTED.value)
    if known.phase == PreparePhase.FAILED:
        return recovered(known, request)
    found = underway(msgspec.structs.replace(known, observed_digest=digest_of(wanted)), job, why)
    has_failed = found.phase == PreparePhase.FAILED
    return msgspec.structs.replace(found, prior_request=request) if has_failed else found


def underway(known: PrepareStatus, job: Job | None, why: str) -> PrepareStatus:
    """How far along an attempt is that has not ended as far as is recorded."""
    if job is None or attempt_of(job) != known.recovered_by:
        said = "the Job has vanished before its outcome was known"
        return failed(known, said) if known.job_name else in_phase(known, PreparePhase.PENDING)
    return watched(msgspec.structs.replace(known, job_name=job.metadata.name), job, why)


def watched(known: PrepareStatus, job: Job, why: str) -> PrepareStatus:
    """What the Job of this very attempt tells."""
    ending = job.ending
    if ending is not None and ending.type == "Complete":
        return in_phase(known, PreparePhase.SUCCEEDED)
    if ending is not None:
        said = ": ".join(filter(None, (ending.reason, ending.message, why)))
        return failed(known, said)
    if job.metadata.deletion_timestamp is not None:
        return failed(known, "the Job was deleted before it had finished")
    runs = job.status.ready > 0 or known.phase == PreparePhase.RUNNING
    return in_phase(known, PreparePhase.RUNNING if runs else PreparePhase.PENDING)


def recovered(known: PrepareStatus, request: str) -> PrepareStatus:
    """A request that came after the failure begins a new attempt."""
    if request in ("", known.recovered_by, known.prior_request):
        return known
    anew = msgspec.structs.replace(
        known, recovered_by=request, prior_request="", job_name="", message=""
    )
    return in_phase(anew, PreparePhase.PENDING)


def failed(known: PrepareStatus, why: str) -> PrepareStatus:
    return in_phase(msgspec.structs.replace(known, message=why), PreparePhase.FAILED)


def in_phase(known: PrepareStatus, phase: PreparePhase) -> PrepareStatus:
    """The recovery is as far along as the attempt that it has begun."""
    recovery = phase.value if known.recovered_by else ""
    return msgspec.structs.replace(known, phase=phase.value, recovery_phase=recovery)


def next_move(recorded: PrepareStatus, job: Job | None) -> Move:
    """What may be done now that this is recorded."""
    if job is None:
        is_due = recorded.phase not in OVER and not recorded.job_name
        return Move.START if is_due else Move.NOTHING
    if recorded.phase in DONE or attempt_of(job) != recorded.recovered_by:
        return Move.REMOVE
    if recorded.phase == PreparePhase.FAILED and has_outcome_pending(job):
        return Move.LET_GO
    return Move.NOTHING
