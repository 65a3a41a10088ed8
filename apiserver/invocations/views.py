"""How invocations and dead letters are shown."""

import base64
from typing import Any

from marshmallow import Schema, fields

from apiserver.invocations.commands import Invocation
from apiserver.nats.port import Letter
from apiserver.schemas.camel import CamelSchema
from apiserver.schemas.part import without_blank
from apiserver.schemas.response import PageMetaSchema
from apiserver.schemas.view_fields import Time
from apiserver.timestamps import moment
from shared.invocation.record import Body, Record, Result
from shared.invocation.state import FailureClass, State


class ResultSchema(CamelSchema):
    """What came of an invocation: the function's answer, or why there is none."""

    status_code = fields.Integer(metadata={"description": "The function's own."})
    content_type = fields.String()
    headers = fields.Dict(keys=fields.String(), values=fields.String())
    body = fields.String(metadata={"description": "Where it is text and small."})
    body_base64 = fields.String(metadata={"description": "Where it is small and not text."})
    body_bytes = fields.Integer(metadata={"description": "How large it is; /body streams it."})
    error = fields.String()
    failure_class = fields.String(metadata={"enum": [each.value for each in FailureClass]})


class InvocationViewSchema(CamelSchema):
    """One invocation: how far along its present run is, and what came of it."""

    invocation_id = fields.String(data_key="invocationID", required=True)
    request_id = fields.String(data_key="requestID", required=True)
    state = fields.String(required=True, metadata={"enum": [each.value for each in State]})
    run = fields.Integer(required=True)
    attempts = fields.Integer(required=True)
    worker = fields.String()
    accepted_at = Time("accepted_at")
    started_at = Time("started_at")
    finished_at = Time("finished_at")
    queue_milliseconds = fields.Integer()
    run_milliseconds = fields.Integer()
    result = fields.Nested(ResultSchema)


class InvocationAnswerSchema(Schema):
    """The envelope of one invocation."""

    data = fields.Nested(InvocationViewSchema, required=True)


class InvocationListAnswerSchema(Schema):
    """The envelope of some invocations; their results are without bodies."""

    data = fields.List(fields.Nested(InvocationViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


class DeadLetterViewSchema(CamelSchema):
    """An invocation that was given up on, or a message that could not be read."""

    request_id = fields.String(data_key="requestID", required=True)
    invocation_id = fields.String(data_key="invocationID")
    run = fields.Integer()
    attempts = fields.Integer()
    reason = fields.String()
    failure_class = fields.String()
    at = Time("at")
    original_base64 = fields.String(metadata={"description": "The message as it was."})


class DeadLetterListAnswerSchema(Schema):
    """The envelope of some dead letters."""

    data = fields.List(fields.Nested(DeadLetterViewSchema), required=True)
    meta = fields.Nested(PageMetaSchema, required=True)


def invocation_view(invocation: Invocation) -> dict[str, Any]:
    """The view of one invocation."""
    record = invocation.record
    return without_blank(
        {
            "invocationID": invocation.invocation_id,
            "requestID": invocation.request_id,
            "state": record.state.value,
            "run": record.run,
            "attempts": record.attempts,
            "worker": record.worker,
            "acceptedAt": moment(record.accepted_at),
            "startedAt": moment(record.started_at),
            "finishedAt": moment(record.finished_at),
            **durations(record),
            "result": result_view(record.result) if record.result else None,
        }
    )


def durations(record: Record) -> dict[str, int]:
    """How long it waited and ran; clocks differ between machines, but no time is below nought."""
    found = {}
    if record.started_at:
        found["queueMilliseconds"] = max(0, record.started_at - record.accepted_at)
    if record.started_at and record.finished_at:
        found["runMilliseconds"] = max(0, record.finished_at - record.started_at)
    return found


def result_view(result: Result) -> dict[str, Any]:
    """The view of a result."""
    view = without_blank(
        {
            "contentType": result.content_type,
            "headers": result.headers,
            "error": result.error,
            "failureClass": result.failure_class,
        }
    )
    status = {"statusCode": result.status_code} if result.status_code else {}
    return {**status, **view, **body_view(result.body)}


def body_view(body: Body) -> dict[str, Any]:
    """A small body itself, as text where it is text, and the size of every one."""
    size = {"bodyBytes": body.size or len(body.inline)} if body != Body() else {}
    if not body.inline:
        return size
    try:
        return {"body": body.inline.decode(), **size}
    except UnicodeDecodeError:
        return {"bodyBase64": base64.b64encode(body.inline).decode(), **size}


def dead_letter_view(entry: Letter) -> dict[str, Any]:
    """The view of one dead letter."""
    letter, call = entry.letter, entry.letter.call
    return without_blank(
        {
            "requestID": entry.request_id,
            "invocationID": call.invocation_id if call else None,
            "run": call.run if call else None,
            "attempts": letter.attempts,
            "reason": letter.reason,
            "failureClass": letter.failure_class,
            "at": moment(letter.at),
            "originalBase64": base64.b64encode(letter.original).decode(),
        }
    )
