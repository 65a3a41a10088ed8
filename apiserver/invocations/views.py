"""Views of invocations and dead letters."""

import base64
from typing import Any

from marshmallow import Schema, fields

from apiserver.invocations.commands import Invocation
from apiserver.nats.port import ListedDeadLetter
from apiserver.schemas.request import CamelSchema, drop_empty
from apiserver.schemas.response import PageMetaSchema
from apiserver.schemas.view_fields import Timestamp
from shared.invocation.record import InvocationBody, InvocationRecord, InvocationResult
from shared.invocation.state import FailureClass, InvocationState
from shared.time import format_ms


class ResultSchema(CamelSchema):
    """The result of an invocation: the response of the function, or the error."""

    status_code = fields.Integer(metadata={"description": "The status code of the function."})
    content_type = fields.String()
    headers = fields.Dict(keys=fields.String(), values=fields.String())
    body = fields.String(metadata={"description": "The body, if it is small and text."})
    body_base64 = fields.String(metadata={"description": "The body, if it is small and not text."})
    body_bytes = fields.Integer(
        metadata={"description": "The size of the body in bytes; `/body` streams it."}
    )
    error = fields.String()
    failure_class = fields.String(metadata={"enum": [item.value for item in FailureClass]})


class InvocationViewSchema(CamelSchema):
    """One invocation: the state and the result of its current run."""

    invocation_id = fields.String(data_key="invocationID", required=True)
    function_name = fields.String(data_key="requestID", required=True)
    state = fields.String(
        required=True, metadata={"enum": [state.value for state in InvocationState]}
    )
    run = fields.Integer(required=True)
    attempts = fields.Integer(required=True)
    worker = fields.String()
    accepted_at = Timestamp("accepted_at")
    started_at = Timestamp("started_at")
    finished_at = Timestamp("finished_at")
    queue_milliseconds = fields.Integer()
    run_milliseconds = fields.Integer()
    result = fields.Nested(ResultSchema)


class InvocationAnswerSchema(Schema):
    """The envelope of one invocation."""

    data = fields.Nested(InvocationViewSchema, required=True)


class InvocationListAnswerSchema(Schema):
    """The envelope of a page of invocations; their results have no bodies."""

    data = fields.List(fields.Nested(InvocationViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


class DeadLetterViewSchema(CamelSchema):
    """An invocation that was given up, or a message that could not be read."""

    function_name = fields.String(data_key="requestID", required=True)
    invocation_id = fields.String(data_key="invocationID")
    run = fields.Integer()
    attempts = fields.Integer()
    reason = fields.String()
    failure_class = fields.String()
    at = Timestamp("at")
    original_base64 = fields.String(metadata={"description": "The original message."})


class DeadLetterListAnswerSchema(Schema):
    """The envelope of a page of dead letters."""

    data = fields.List(fields.Nested(DeadLetterViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


def invocation_view(invocation: Invocation) -> dict[str, Any]:
    """Return the view of one invocation."""
    record = invocation.record
    return drop_empty(
        {
            "invocationID": invocation.invocation_id,
            "requestID": invocation.function_name,
            "state": record.state.value,
            "run": record.run,
            "attempts": record.attempts,
            "worker": record.worker,
            "acceptedAt": format_ms(record.accepted_at),
            "startedAt": format_ms(record.started_at),
            "finishedAt": format_ms(record.finished_at),
            **duration_fields(record),
            "result": result_view(record.result) if record.result else None,
        }
    )


def duration_fields(record: InvocationRecord) -> dict[str, int]:
    """Return the queue time and the run time; at least 0, because clocks of machines differ."""
    durations = {}
    if record.started_at:
        durations["queueMilliseconds"] = max(0, record.started_at - record.accepted_at)
    if record.started_at and record.finished_at:
        durations["runMilliseconds"] = max(0, record.finished_at - record.started_at)
    return durations


def result_view(result: InvocationResult) -> dict[str, Any]:
    """Return the view of a result."""
    view = drop_empty(
        {
            "contentType": result.content_type,
            "headers": result.headers,
            "error": result.error,
            "failureClass": result.failure_class,
        }
    )
    status = {"statusCode": result.status_code} if result.status_code else {}
    return {**status, **view, **body_view(result.body)}


def body_view(body: InvocationBody) -> dict[str, Any]:
    """Return the size of a body, and a small body itself, as text or base64."""
    size = {"bodyBytes": body.size or len(body.inline)} if body != InvocationBody() else {}
    if not body.inline:
        return size
    try:
        return {"body": body.inline.decode(), **size}
    except UnicodeDecodeError:
        return {"bodyBase64": base64.b64encode(body.inline).decode(), **size}


def dead_letter_view(dead_letter: ListedDeadLetter) -> dict[str, Any]:
    """Return the view of one dead letter."""
    letter, call = dead_letter.dead_letter, dead_letter.dead_letter.call
    return drop_empty(
        {
            "requestID": dead_letter.function_name,
            "invocationID": call.invocation_id if call else None,
            "run": call.run if call else None,
            "attempts": letter.attempts,
            "reason": letter.reason,
            "failureClass": letter.failure_class,
            "at": format_ms(letter.at),
            "originalBase64": base64.b64encode(letter.original).decode(),
        }
    )
