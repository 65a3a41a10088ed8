"""How the query parameters of functions and invocations are written."""

from datetime import UTC, datetime
from typing import Any, Final

from marshmallow import ValidationError, validate, validates_schema

from apiserver.invocations.commands import Invoke, ListDeadLetters, ListInvocations
from apiserver.invocations.fields import (
    WAIT_RANGE,
    AttributesParameter,
    InvocationID,
    InvocationMode,
)
from apiserver.invocations.header_fields import CallerHeadersParameter
from apiserver.invocations.schemas import DEFAULT_WAIT_SECONDS
from apiserver.schemas.fields import QueryInteger, StrictString
from apiserver.schemas.queries import PagedQuerySchema, QuerySchema
from apiserver.schemas.resources import MAX_INT32
from apiserver.schemas.serverless import FunctionName
from apiserver.serverless_commands import DeleteFunction, QueuedWorkPolicy
from shared.invocation.state import InvocationState

_STATES: Final = [state.value for state in InvocationState]


class QueryFlag(StrictString):
    """A wish that is spoken out or not."""

    def __init__(self, description: str) -> None:
        super().__init__(
            validate=validate.OneOf(["true", "false"], error="must be true or false"),
            metadata={"description": description},
        )


class DeleteFunctionQuerySchema(QuerySchema[DeleteFunction]):
    """What becomes of the queued work of a function that is deleted."""

    drain = QueryFlag("Finish it.")
    purge = QueryFlag("Cancel it.")

    @validates_schema
    def check_exclusive(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two wishes."""
        if data.get("drain") == data.get("purge") == "true":
            raise ValidationError({"purge": ["cannot go with drain: give one of them"]})

    def build(self, data: dict[str, Any]) -> DeleteFunction:
        """The command, which lacks the name of the function."""
        wishes = (each for each in QueuedWorkPolicy if data.get(each.value) == "true")
        return DeleteFunction("", next(wishes, None))


class InvokeQuerySchema(QuerySchema[Invoke]):
    """The parameters of an invocation whose payload is the body itself."""

    invocation_id = InvocationID()
    mode = InvocationMode()
    headers = CallerHeadersParameter()
    attributes = AttributesParameter()
    ttl_seconds = QueryInteger(
        validate=validate.Range(1, MAX_INT32, error="must be from {min} to {max}")
    )
    wait_seconds = QueryInteger(load_default=DEFAULT_WAIT_SECONDS, validate=WAIT_RANGE)

    def build(self, data: dict[str, Any]) -> Invoke:
        """The command, which lacks the name of the function."""
        mode, wait = data.pop("mode"), data.pop("wait_seconds")
        return Invoke(function_name="", wait_seconds=wait if mode == "sync" else None, **data)


class WaitFinalQuerySchema(QuerySchema[int | None]):
    """How many seconds to wait until an invocation is final; None is not at all."""

    wait = QueryInteger(
        validate=WAIT_RANGE,
        metadata={"description": "Answer when it is final, or after these seconds."},
    )

    def build(self, data: dict[str, Any]) -> int | None:
        """How many seconds to wait."""
        return data.get("wait")


class TimestampParameter(StrictString):
    """A moment as RFC 3339 writes it."""

    def __init__(self, description: str) -> None:
        super().__init__(metadata={"description": description, "format": "date-time"})

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> Any:
        text = super()._deserialize(value, *rest, **more)
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise ValidationError("is not a time such as 2026-11-16T04:41:00Z") from None
        if found.tzinfo is None:
            raise ValidationError("has no time zone, such as Z")
        return found.astimezone(UTC)


class InvocationsQuerySchema(PagedQuerySchema[ListInvocations]):
    """The parameters of the list of invocations."""

    function_name = FunctionName(data_key="requestID")
    state = StrictString(
        validate=validate.OneOf(_STATES, error="is not one of {choices}"),
        metadata={"enum": _STATES},
    )
    since = TimestampParameter("Finished at or after this time; needs the result store.")
    until = TimestampParameter("Finished before this time; needs the result store.")

    def build(self, data: dict[str, Any]) -> ListInvocations:
        """Which invocations."""
        state = data.pop("state", None)
        return ListInvocations(state=InvocationState(state) if state else None, **data)


class DeadLettersQuerySchema(PagedQuerySchema[ListDeadLetters]):
    """The parameters of the list of dead letters."""

    function_name = FunctionName(data_key="requestID")

    def build(self, data: dict[str, Any]) -> ListDeadLetters:
        """Which dead letters."""
        return ListDeadLetters(**data)
