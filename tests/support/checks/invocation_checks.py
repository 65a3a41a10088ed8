"""The guarantees of serverless invocations, checked on the stored records and messages."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shared.invocation.message import DeadLetterMessage, OutcomeMessage, outcome_message
from shared.invocation.queue_names import parse_record_key
from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState
from shared.invocation.transition import published

# A worker may lose its run between its last read of the record and the call that follows.
LATE_CALL_TOLERANCE_MS = 900


@dataclass(frozen=True)
class RecordVersion:
    """One version of a record in the bucket, and the server's time of it."""

    record: InvocationRecord
    stored_at: int


@dataclass(frozen=True)
class Execution:
    """One call of user code; `began_at` is in milliseconds since 1970."""

    invocation_id: str
    run: int
    attempt: int
    began_at: int


@dataclass(frozen=True)
class InvocationSnapshot:
    """The stored data of some invocations; keys are `<requestID>.<invocationID>`.

    `versions` are those that the bucket still has, oldest first; a longer history shows more
    violations. `queued_keys` are the invocations that still have a message.
    """

    accepted: Iterable[str]
    versions: Mapping[str, Sequence[RecordVersion]]
    outcomes: Sequence[OutcomeMessage]
    dead_letters: Sequence[DeadLetterMessage]
    executions: Sequence[Execution] = ()
    queued_keys: Iterable[str] = field(default_factory=tuple)


def find_violations(snapshot: InvocationSnapshot) -> list[str]:
    """Return a sentence for each violation; empty when all guarantees hold."""
    return [
        *(f"{key}: a message remains" for key in snapshot.queued_keys),
        *_lost_invocations(snapshot),
        *_conflicting_versions(snapshot),
        *_wrong_outcomes(snapshot),
        *_wrong_dead_letters(snapshot),
        *_wrong_executions(snapshot),
    ]


def is_finished(snapshot: InvocationSnapshot) -> bool:
    """Return whether every accepted invocation has a published outcome, and no message remains."""
    latest = {key: versions[-1].record for key, versions in snapshot.versions.items()}
    return not list(snapshot.queued_keys) and all(
        key in latest and latest[key].is_final and latest[key].published
        for key in snapshot.accepted
    )


def _lost_invocations(snapshot: InvocationSnapshot) -> Iterator[str]:
    for key in snapshot.accepted:
        if not snapshot.versions.get(key):
            yield f"{key}: was accepted, but has no record"
        elif not snapshot.versions[key][-1].record.is_final:
            yield f"{key}: has no outcome, its state is {snapshot.versions[key][-1].record.state}"


def _conflicting_versions(snapshot: InvocationSnapshot) -> Iterator[str]:
    for key, versions in snapshot.versions.items():
        records = [version.record for version in versions]
        for record in records:
            if record.attempts > record.request.max_attempts:
                yield f"{key}: {record.attempts} attempts of {record.request.max_attempts}"
        for before, after in pairwise(records):
            if before.is_final and after not in (before, published(before)):
                if after.run != before.run + 1:
                    yield f"{key}: was {before.state}, and became {after.state} in the same run"
            elif after.run == before.run and after.attempts not in _possible_attempts(before):
                yield f"{key}: went from attempt {before.attempts} to {after.attempts}"


def _possible_attempts(record: InvocationRecord) -> tuple[int, ...]:
    return (record.attempts, record.attempts + 1)


def _wrong_outcomes(snapshot: InvocationSnapshot) -> Iterator[str]:
    contents: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for outcome in snapshot.outcomes:
        contents[outcome.invocation_id, outcome.run].add(repr(outcome).encode())
    for (invocation_id, run), different in contents.items():
        if len(different) > 1:
            yield f"{invocation_id}: run {run} has {len(different)} different outcomes"
    for key, final in _final_records(snapshot):
        outcome = outcome_message(*parse_record_key(key), published(final))
        if contents.get((outcome.invocation_id, final.run)) != {repr(outcome).encode()}:
            yield f"{key}: run {final.run} was recorded as {final.state}, but not published so"


def _wrong_dead_letters(snapshot: InvocationSnapshot) -> Iterator[str]:
    dead_lettered = {
        (letter.call.invocation_id, letter.call.run)
        for letter in snapshot.dead_letters
        if letter.call
    }
    for key, final in _final_records(snapshot):
        has_letter = (parse_record_key(key)[1], final.run) in dead_lettered
        if has_letter != (final.state is InvocationState.DEAD_LETTERED):
            yield f"{key}: run {final.run} is {final.state}, dead letter: {has_letter}"


def _wrong_executions(snapshot: InvocationSnapshot) -> Iterator[str]:
    times = Counter((call.invocation_id, call.run, call.attempt) for call in snapshot.executions)
    for (invocation_id, run, attempt), count in times.items():
        if count > 1:
            yield f"{invocation_id}: attempt {attempt} of run {run} was executed {count} times"
    ends = {
        (parse_record_key(key)[1], version.record.run): version
        for key, versions in snapshot.versions.items()
        for version in reversed(versions)  # the first final version remains
        if version.record.is_final
    }
    for call in snapshot.executions:
        end = ends.get((call.invocation_id, call.run))
        if end and call.began_at > end.stored_at + LATE_CALL_TOLERANCE_MS:
            yield f"{call.invocation_id}: attempt {call.attempt} began after the outcome"
        if end and call.attempt > end.record.attempts:
            yield f"{call.invocation_id}: attempt {call.attempt} is not in the record"


def _final_records(snapshot: InvocationSnapshot) -> Iterator[tuple[str, InvocationRecord]]:
    for key, versions in snapshot.versions.items():
        runs = {item.record.run: item.record for item in versions if item.record.is_final}
        yield from ((key, record) for record in runs.values())
