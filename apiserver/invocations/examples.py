"""Invocations as the document shows them."""

from typing import Final

from apiserver.errors import ConflictError, QueueFullError
from apiserver.http.openapi import failed
from apiserver.invocations.commands import Invocation
from apiserver.invocations.views import dead_letter_view, invocation_view
from apiserver.nats.port import Letter
from shared.invocation import transition
from shared.invocation.message import DeadLetter, call_of
from shared.invocation.record import Body, Record, Request, Result
from shared.invocation.state import FailureClass, State

_ACCEPTED_AT: Final = 1_794_804_060_000
_QUEUED: Final = Record(
    function_uid="9e0c6a1e-52d4-4c0b-9a77-0d3b5f0f7a14",
    hash="v1:0",
    accepted_at=_ACCEPTED_AT,
    request=Request(),
)
_RUNNING: Final = transition.begun(_QUEUED, "echo-7", 12, _ACCEPTED_AT + 180)
_ANSWER: Final = Result(
    status_code=200,
    content_type="application/json",
    body=Body(inline=b'{"hello":"world"}', size=17),
)
_GIVEN_UP: Final = transition.dead_lettered(
    _RUNNING, "3 attempts were used up", FailureClass.ATTEMPTS_EXHAUSTED, _ACCEPTED_AT + 9000
)
_LETTER: Final = DeadLetter(
    reason="3 attempts were used up",
    failure_class=FailureClass.ATTEMPTS_EXHAUSTED.value,
    attempts=3,
    call=call_of("echo", "order-4711", _GIVEN_UP),
    at=_GIVEN_UP.finished_at,
)


def _invocation(record: Record) -> Invocation:
    return Invocation("echo", "order-4711", record)


def _answered(record: Record) -> dict[str, object]:
    return {"data": invocation_view(_invocation(record))}


QUEUED: Final = _answered(_QUEUED)
SUCCEEDED: Final = _answered(
    transition.finished(_RUNNING, State.SUCCEEDED, _ANSWER, _ACCEPTED_AT + 420)
)
CANCELLED: Final = _answered(transition.cancelled(_QUEUED, _ACCEPTED_AT + 90))
CANCELLING: Final = _answered(transition.cancelling(_RUNNING))
REDRIVEN: Final = _answered(transition.redriven(_GIVEN_UP, _ACCEPTED_AT + 60_000))
INVOCATIONS: Final = {"data": [SUCCEEDED["data"]], "meta": {"continue": "djEuNDI"}}
DEAD_LETTERS: Final = {
    "data": [dead_letter_view(Letter("echo", _LETTER, 3))],
    "meta": {},
}
OTHER_PAYLOAD: Final = failed(
    ConflictError("invocationID 'order-4711' was used for another request")
)
QUEUE_FULL: Final = failed(
    QueueFullError("the function 'echo' has 10000 queued invocations", retry_after=1)
)
ALREADY_FINAL: Final = failed(ConflictError("the invocation is already succeeded"))
NOT_FINAL: Final = failed(ConflictError("the invocation is running; only a final one is redriven"))
INVOKE: Final = {
    "invocationID": "order-4711",
    "serverlessRequestID": "echo",
    "mode": "sync",
    "attributes": {"tenant": "blue"},
    "payload": {"hello": "world"},
    "waitSeconds": 1,
}
