"""The messages that are published for a final record before its call is acknowledged."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.invocation import message
from shared.invocation.message import (
    DeadLetterMessage,
    call_message,
    outcome_message,
    outcome_message_id,
)
from shared.invocation.queue_names import QueueNames, parse_record_key
from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One message for a stream; the stream drops a second message with the same id."""

    subject: str
    message_id: str
    data: bytes


def final_messages(
    names: QueueNames, key: str, record: InvocationRecord
) -> Iterator[StreamMessage]:
    """Yield the outcome of a final record, and its dead letter if it is dead-lettered."""
    function_name, invocation_id = parse_record_key(key)
    outcome = outcome_message(function_name, invocation_id, record)
    message_id = outcome_message_id(outcome)
    yield StreamMessage(
        names.result_subject(function_name), message_id, message.encode_message(outcome)
    )
    if record.state is InvocationState.DEAD_LETTERED:
        call = call_message(function_name, invocation_id, record)
        letter = DeadLetterMessage(
            reason=outcome.result.error,
            failure_class=outcome.result.failure_class,
            attempts=record.attempts,
            call=call,
            original=message.encode_message(call),
            at=record.finished_at,
        )
        yield StreamMessage(
            names.dead_letter_subject(function_name), message_id, message.encode_message(letter)
        )
