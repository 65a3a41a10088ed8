"""Invocations in the examples of the API document."""

from typing import Final

from apiserver.errors import ConflictError, QueueFullError
from apiserver.http.openapi import error_doc
from apiserver.invocations.commands import Invocation
from apiserver.invocations.views import dead_letter_view, invocation_view
from apiserver.nats.port import ListedDeadLetter
from shared.invocation import transition
from shared.invocation.message import DeadLetterMessage, call_message
from shared.invocation.record import (
    InvocationBody,
    InvocationRecord,
    InvocationRequest,
    InvocationResult,
)
from shared.invocation.state import FailureClass, InvocationState

_ACCEPTED_AT: Final = 1_794_804_060_000
_QUEUED: Final = InvocationRecord(
    function_uid="9e0c6a1e-52d4-4c0b-9a77-0d3b5f0f7a14",
    hash="v1:0",
    accepted_at=_ACCEPTED_AT,
    request=InvocationRequest(),
)
_RUNNING: Final = transition.attempt_started(_QUEUED, "echo-7", 12, _ACCEPTED_AT + 180)
_RESULT: Final = InvocationResult(
    status_code=200,
    content_type="application/json",
    body=InvocationBody(inline=b'{"hello":"world"}', size=17),
)
_DEAD_LETTERED: Final = transition.dead_lettered(
    _RUNNING, "all 3 attempts failed", FailureClass.ATTEMPTS_EXHAUSTED, _ACCEPTED_AT + 9000
)
_DEAD_LETTER: Final = DeadLetterMessage(
    reason="all 3 attempts failed",
    failure_class=FailureClass.ATTEMPTS_EXHAUSTED.value,
    attempts=3,
    call=call_message("echo", "order-4711", _DEAD_LETTERED),
    at=_DEAD_LETTERED.finished_at,
)


def _invocation(record: InvocationRecord) -> Invocation:
    return Invocation("echo", "order-4711", record)


def _response(record: InvocationRecord) -> dict[str, object]:
    return {"data": invocation_view(_invocation(record))}


QUEUED: Final = _response(_QUEUED)
SUCCEEDED: Final = _response(
    transition.finished(_RUNNING, InvocationState.SUCCEEDED, _RESULT, _ACCEPTED_AT + 420)
)
CANCELLED: Final = _response(transition.cancelled(_QUEUED, _ACCEPTED_AT + 90))
CANCELLING: Final = _response(transition.cancelling(_RUNNING))
REDRIVEN: Final = _response(transition.redriven(_DEAD_LETTERED, _ACCEPTED_AT + 60_000))
INVOCATIONS: Final = {"data": [SUCCEEDED["data"]], "meta": {"continue": "djEuNDI"}}
DEAD_LETTERS: Final = {
    "data": [dead_letter_view(ListedDeadLetter("echo", _DEAD_LETTER, 3))],
    "meta": {},
}
INVOCATION_CONFLICT: Final = error_doc(
    ConflictError("invocationID 'order-4711' was used for a different request")
)
QUEUE_FULL: Final = error_doc(
    QueueFullError("the function 'echo' has 10000 queued invocations", retry_after=1)
)
ALREADY_FINAL: Final = error_doc(ConflictError("the invocation is already succeeded"))
NOT_FINAL: Final = error_doc(
    ConflictError("the invocation is running; only a final invocation can be redriven")
)
INVOKE: Final = {
    "invocationID": "order-4711",
    "serverlessRequestID": "echo",
    "mode": "sync",
    "attributes": {"tenant": "blue"},
    "payload": {"hello": "world"},
    "waitSeconds": 1,
}
