"""How the query parameters of functions and invocations are written."""

from datetime import UTC, datetime
from typing import Any, Final

from marshmallow import ValidationError, validate, validates_schema

from apiserver.invocations.commands import Invoke, ListDeadLetters, ListInvocations
from apiserver.invocations.fields import WAIT, AttributesText, InvocationID, Mode
from apiserver.invocations.header_fields import HeadersText
from apiserver.invocations.schemas import DEFAULT_WAIT
from apiserver.schemas.fields import Count, Text
from apiserver.schemas.queries import PagedQuerySchema, QuerySchema
from apiserver.schemas.resources import MOST
from apiserver.schemas.serverless import RequestID
from apiserver.serverless_commands import DeleteFunction, OnDelete
from shared.invocation.state import State

_STATES: Final = [state.value for state in State]


class Yes(Text):
    """A wish that is spoken out or not."""

    def __init__(self, description: str) -> None:
        super().__init__(
            validate=validate.OneOf(["true", "false"], error="must be true or false"),
            metadata={"description": description},
        )


class DeleteFunctionQuerySchema(QuerySchema[DeleteFunction]):
    """What becomes of the queued work of a function that is deleted."""

    drain = Yes("Finish it.")
    purge = Yes("Cancel it.")

    @validates_schema
    def check_wishes(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two wishes."""
        if data.get("drain") == data.get("purge") == "true":
            raise ValidationError({"purge": ["cannot go with drain: give one of them"]})

    def make(self, data: dict[str, Any]) -> DeleteFunction:
        """The command, which lacks the name of the function."""
        wishes = (each for each in OnDelete if data.get(each.value) == "true")
        return DeleteFunction("", next(wishes, None))


class InvokeQuerySchema(QuerySchema[Invoke]):
    """The parameters of an invocation whose payload is the body itself."""

    invocation_id = InvocationID()
    mode = Mode()
    headers = HeadersText()
    attributes = AttributesText()
    ttl_seconds = Count(validate=validate.Range(1, MOST, error="must be from {min} to {max}"))
    wait_seconds = Count(load_default=DEFAULT_WAIT, validate=WAIT)

    def make(self, data: dict[str, Any]) -> Invoke:
        """The command, which lacks the name of the function."""
        mode, wait = data.pop("mode"), data.pop("wait_seconds")
        return Invoke(request_id="", wait_seconds=wait if mode == "sync" else None, **data)


class WaitFinalQuerySchema(QuerySchema[int | None]):
    """How many seconds to wait until an invocation is final; None is not at all."""

    wait = Count(
        validate=WAIT, metadata={"description": "Answer when it is final, or after these seconds."}
    )

    def make(self, data: dict[str, Any]) -> int | None:
        """How many seconds to wait."""
        return data.get("wait")


class Moment(Text):
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

    request_id = RequestID(data_key="requestID")
    state = Text(
        validate=validate.OneOf(_STATES, error="is not one of {choices}"),
        metadata={"enum": _STATES},
    )
    since = Moment("Finished at or after this time; needs the result store.")
    until = Moment("Finished before this time; needs the result store.")

    def make(self, data: dict[str, Any]) -> ListInvocations:
        """Which invocations."""
        state = data.pop("state", None)
        return ListInvocations(state=State(state) if state else None, **data)


class DeadLettersQuerySchema(PagedQuerySchema[ListDeadLetters]):
    """The parameters of the list of dead letters."""

    request_id = RequestID(data_key="requestID")

    def make(self, data: dict[str, Any]) -> ListDeadLetters:
        """Which dead letters."""
        return ListDeadLetters(**data)
