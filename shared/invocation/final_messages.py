"""What whoever makes a record final tells the streams before the message goes."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.invocation import message
from shared.invocation.message import DeadLetter, call_of, outcome_id, outcome_of
from shared.invocation.queue_names import QueueNames, ids_of
from shared.invocation.record import Record
from shared.invocation.state import State


@dataclass(frozen=True, slots=True)
class Announcement:
    """One message for a stream; a second one with the same id is dropped there."""

    subject: str
    message_id: str
    data: bytes


def announcements(names: QueueNames, record_key: str, record: Record) -> Iterator[Announcement]:
    """The outcome of a final record, and its dead letter if it was given up."""
    request_id, invocation_id = ids_of(record_key)
    outcome = outcome_of(request_id, invocation_id, record)
    once = outcome_id(outcome)
    yield Announcement(names.result_subject(request_id), once, message.encode(outcome))
    if record.state is State.DEAD_LETTERED:
        call = call_of(request_id, invocation_id, record)
        letter = DeadLetter(
            reason=outcome.result.error,
            failure_class=outcome.result.failure_class,
            attempts=record.attempts,
            call=call,
            original=message.encode(call),
            at=record.finished_at,
        )
        yield Announcement(names.dead_letter_subject(request_id), once, message.encode(letter))
