"""Invocations as stored by release 0.1.0 (commit 0e22fbe): records, calls, outcomes, dead letters.

That release made the data file. Its stored data must decode and encode to the same bytes. A
repeated request must have the hash of its record. A final record must give the same messages to the
streams, so that the streams drop a second copy.
"""

import pytest

from shared.invocation import message, record, worker_report
from shared.invocation.final_messages import final_messages
from shared.invocation.queue_names import QueueNames
from tests.unit.golden.data import Case, cases
from tests.unit.golden.recorded_api import asked


def read_and_written(kind: str, text: str) -> str:
    """Decode stored data of the queue, and encode it again."""
    data = text.encode()
    match kind:
        case "record":
            return record.encode_record(record.decode_record(data)).decode()
        case "call":
            return message.encode_message(message.decode_call(data)).decode()
        case "outcome":
            return message.encode_message(message.decode_outcome(data)).decode()
        case "letter":
            return message.encode_message(message.decode_dead_letter(data)).decode()
        case _:
            return worker_report.encode_report(worker_report.decode_report(data)).decode()


def published_messages(text: str) -> list[dict[str, str]]:
    """Return the messages that are published for a final record."""
    messages = final_messages(QueueNames(), "echo.order-1", record.decode_record(text.encode()))
    return [
        {"subject": item.subject, "id": item.message_id, "data": item.data.decode()}
        for item in messages
    ]


@pytest.mark.parametrize("case", cases("invocations", "requests"))
async def test_an_invocation_has_the_record_and_the_call_of_the_release(case: Case) -> None:
    assert await asked(case.given) == case.made


@pytest.mark.parametrize("case", cases("invocations", "later"))
async def test_a_stored_invocation_is_found_and_changed(case: Case) -> None:
    assert await asked(case.given) == case.made


@pytest.mark.parametrize("case", cases("invocations", "stored"))
def test_a_stored_message_is_read_and_written_unchanged(case: Case) -> None:
    assert read_and_written(**case.given) == case.made


@pytest.mark.parametrize("case", cases("invocations", "told"))
def test_a_final_record_has_the_messages_of_the_release(case: Case) -> None:
    assert published_messages(case.given) == case.made
