"""The promise of serverless, checked over everything that can be seen of it afterwards."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shared.invocation.message import DeadLetter, Outcome, outcome_of
from shared.invocation.queue_names import ids_of
from shared.invocation.record import Record
from shared.invocation.state import State
from shared.invocation.transition import published

# A worker may lose its run between its last look at the record and the call that follows.
GRACE_MILLISECONDS = 900


@dataclass(frozen=True)
class Version:
    """One state of a record as the bucket accepted it, and when, by the server's clock."""

    record: Record
    at: int


@dataclass(frozen=True)
class Execution:
    """One call of user code; `at` is when it began, in milliseconds since 1970."""

    invocation_id: str
    run: int
    attempt: int
    at: int


@dataclass(frozen=True)
class Seen:
    """All that is left of some invocations; keys are `<requestID>.<invocationID>`.

    `versions` are those that the bucket still has, oldest first: a bucket with a longer history
    shows more mistakes. `queued` are the keys that still have a message.
    """

    accepted: Iterable[str]
    versions: Mapping[str, Sequence[Version]]
    outcomes: Sequence[Outcome]
    dead_letters: Sequence[DeadLetter]
    executions: Sequence[Execution] = ()
    queued: Iterable[str] = field(default_factory=tuple)


def violations(seen: Seen) -> list[str]:
    """Everything that breaks the promise, in words; nothing if it holds."""
    return [
        *(f"{key}: a message is left" for key in seen.queued),
        *_lost(seen),
        *_twice_decided(seen),
        *_told_wrongly(seen),
        *_buried_wrongly(seen),
        *_executed_wrongly(seen),
    ]


def is_over(seen: Seen) -> bool:
    """Whether every accepted invocation has its outcome, told and with no message left."""
    lasts = {key: versions[-1].record for key, versions in seen.versions.items()}
    return not list(seen.queued) and all(
        key in lasts and lasts[key].is_final and lasts[key].published for key in seen.accepted
    )


def _lost(seen: Seen) -> Iterator[str]:
    for key in seen.accepted:
        if not seen.versions.get(key):
            yield f"{key}: was accepted, and has no record"
        elif not seen.versions[key][-1].record.is_final:
            yield f"{key}: has no outcome, it is {seen.versions[key][-1].record.state}"


def _twice_decided(seen: Seen) -> Iterator[str]:
    for key, versions in seen.versions.items():
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


def _possible_attempts(before: Record) -> tuple[int, ...]:
    return (before.attempts, before.attempts + 1)


def _told_wrongly(seen: Seen) -> Iterator[str]:
    told: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for each in seen.outcomes:
        told[each.invocation_id, each.run].add(repr(each).encode())
    for (invocation_id, run), contents in told.items():
        if len(contents) > 1:
            yield f"{invocation_id}: run {run} was told in {len(contents)} ways"
    for key, final in _finals(seen):
        outcome = outcome_of(*ids_of(key), published(final))
        if told.get((outcome.invocation_id, final.run)) != {repr(outcome).encode()}:
            yield f"{key}: run {final.run} was recorded as {final.state}, and not told so"


def _buried_wrongly(seen: Seen) -> Iterator[str]:
    buried = {(each.call.invocation_id, each.call.run) for each in seen.dead_letters if each.call}
    for key, final in _finals(seen):
        is_buried = (ids_of(key)[1], final.run) in buried
        if is_buried != (final.state is State.DEAD_LETTERED):
            yield f"{key}: run {final.run} is {final.state}, dead letter: {is_buried}"


def _executed_wrongly(seen: Seen) -> Iterator[str]:
    times = Counter((each.invocation_id, each.run, each.attempt) for each in seen.executions)
    for (invocation_id, run, attempt), count in times.items():
        if count > 1:
            yield f"{invocation_id}: attempt {attempt} of run {run} was executed {count} times"
    ends = {
        (ids_of(key)[1], version.record.run): version
        for key, versions in seen.versions.items()
        for version in reversed(versions)  # so that the first version that is final remains
        if version.record.is_final
    }
    for each in seen.executions:
        end = ends.get((each.invocation_id, each.run))
        if end and each.at > end.at + GRACE_MILLISECONDS:
            yield f"{each.invocation_id}: attempt {each.attempt} began after the outcome"
        if end and each.attempt > end.record.attempts:
            yield f"{each.invocation_id}: attempt {each.attempt} is not in the record"


def _finals(seen: Seen) -> Iterator[tuple[str, Record]]:
    for key, versions in seen.versions.items():
        runs = {each.record.run: each.record for each in versions if each.record.is_final}
        yield from ((key, record) for record in runs.values())
