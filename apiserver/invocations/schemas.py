"""Schemas of requests for invocations."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from marshmallow import ValidationError, fields, validate, validates_schema
from msgspec import UNSET, Meta, UnsetType

from apiserver.invocations.commands import Invoke, ListDeadLetters, ListInvocations
from apiserver.invocations.fields import (
    MAX_WAIT_SECONDS,
    WAIT_RANGE,
    Attributes,
    AttributesParameter,
    Base64Bytes,
    ContentType,
    InvocationID,
    InvocationMode,
)
from apiserver.invocations.header_fields import CallerHeaders, CallerHeadersParameter
from apiserver.schemas.fields import QueryInteger, StrictInteger, StrictString
from apiserver.schemas.queries import PagedQuerySchema, QuerySchema
from apiserver.schemas.request import RequestSchema
from apiserver.schemas.resources import MAX_INT32
from apiserver.schemas.serverless import FunctionName
from shared.invocation.ids import is_function_name, is_invocation_id
from shared.invocation.state import InvocationState

DEFAULT_WAIT_SECONDS: Final = 30
JSON_CONTENT_TYPE: Final = "application/json"
BINARY_CONTENT_TYPE: Final = "application/octet-stream"

_STATES: Final = [state.value for state in InvocationState]


@dataclass(frozen=True, slots=True)
class InvokeRequest:
    """An invocation with its payload."""

    command: Invoke
    payload: bytes


class InvokeSchema(RequestSchema[InvokeRequest]):
    """Call a function with a payload of any JSON value, or of bytes."""

    invocation_id = InvocationID()
    function_name = FunctionName(data_key="serverlessRequestID", required=True)
    mode = InvocationMode()
    content_type = ContentType()
    headers = CallerHeaders()
    attributes = Attributes()
    payload = fields.Raw(
        allow_none=True,
        metadata={"description": "Any JSON value; the function receives it as JSON."},
    )
    payload_base64 = Base64Bytes()
    ttl_seconds = StrictInteger(
        validate=validate.Range(1, MAX_INT32, error="must be from {min} to {max}"),
        metadata={"description": "The maximum seconds until it is final; default: the function's."},
    )
    wait_seconds = StrictInteger(
        validate=WAIT_RANGE,
        metadata={
            "description": f"The maximum wait of a sync call; default {DEFAULT_WAIT_SECONDS}."
        },
    )

    @validates_schema
    def check_payload(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two payloads."""
        if "payload" in data and "payload_base64" in data:
            raise ValidationError(
                {"payloadBase64": ["cannot be combined with payload: send one of them"]}
            )

    def parse(self, raw: object) -> InvokeRequest:
        """Return the request; ValidationError."""
        plain = parse_plain_invocation(raw)
        return super().parse(raw) if plain is None else invoke_request(plain)

    def build(self, data: dict[str, Any]) -> InvokeRequest:
        """Return the command, and the payload as the function receives it."""
        mode, wait = data.pop("mode"), data.pop("wait_seconds", DEFAULT_WAIT_SECONDS)
        is_json = "payload" in data
        payload = (
            msgspec.json.encode(data.pop("payload"), order="sorted")
            if is_json
            else data.pop("payload_base64", b"")
        )
        command = Invoke(
            function_name=data.pop("function_name"),
            wait_seconds=wait if mode == "sync" else None,
            **{"content_type": JSON_CONTENT_TYPE if is_json else BINARY_CONTENT_TYPE, **data},
        )
        return InvokeRequest(command, payload)


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
        """Return the command, without the name of the function."""
        mode, wait = data.pop("mode"), data.pop("wait_seconds")
        return Invoke(function_name="", wait_seconds=wait if mode == "sync" else None, **data)


class WaitFinalQuerySchema(QuerySchema[int | None]):
    """The parameters of a wait for an invocation: the seconds, or None without a wait."""

    wait = QueryInteger(
        validate=WAIT_RANGE,
        metadata={"description": "Respond once it is final, or after this number of seconds."},
    )

    def build(self, data: dict[str, Any]) -> int | None:
        """Return how many seconds to wait; None without a wait."""
        return data.get("wait")


class TimestampParameter(StrictString):
    """A time in RFC 3339."""

    def __init__(self, description: str) -> None:
        super().__init__(metadata={"description": description, "format": "date-time"})

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise ValidationError("is not a time such as 2026-11-16T04:41:00Z") from None
        if time.tzinfo is None:
            raise ValidationError("has no time zone, such as Z")
        return time.astimezone(UTC)


class InvocationsQuerySchema(PagedQuerySchema[ListInvocations]):
    """The parameters of the list of invocations."""

    function_name = FunctionName(data_key="requestID")
    state = StrictString(
        validate=validate.OneOf(_STATES, error="is not one of {choices}"),
        metadata={"enum": _STATES},
    )
    since = TimestampParameter("Finished at or after this time; requires the result store.")
    until = TimestampParameter("Finished before this time; requires the result store.")

    def build(self, data: dict[str, Any]) -> ListInvocations:
        """Return the query."""
        state = data.pop("state", None)
        return ListInvocations(state=InvocationState(state) if state else None, **data)


class DeadLettersQuerySchema(PagedQuerySchema[ListDeadLetters]):
    """The parameters of the list of dead letters."""

    function_name = FunctionName(data_key="requestID")

    def build(self, data: dict[str, Any]) -> ListDeadLetters:
        """Return the query."""
        return ListDeadLetters(**data)


class PlainInvocation(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A JSON payload for a function, and how to wait for its outcome."""

    invocation_id: str | None = msgspec.field(name="invocationID", default=None)
    function_name: str = msgspec.field(name="serverlessRequestID")
    mode: Literal["async", "sync"] = "async"
    payload: Any
    wait_seconds: Annotated[int, Meta(ge=1, le=MAX_WAIT_SECONDS)] | UnsetType = UNSET


def parse_plain_invocation(raw: object) -> PlainInvocation | None:
    """Return a valid plain request; None for any other, which the schema then parses or refuses."""
    try:
        plain = msgspec.convert(raw, PlainInvocation)
    except msgspec.ValidationError:
        return None
    has_id = "invocationID" in raw if isinstance(raw, dict) else False
    is_id_valid = not has_id or is_invocation_id(plain.invocation_id or "")
    return plain if is_id_valid and is_function_name(plain.function_name) else None


def invoke_request(plain: PlainInvocation) -> InvokeRequest:
    """Return the request of a plain invocation."""
    seconds = DEFAULT_WAIT_SECONDS if plain.wait_seconds is UNSET else plain.wait_seconds
    command = Invoke(
        function_name=plain.function_name,
        invocation_id=plain.invocation_id,
        content_type=JSON_CONTENT_TYPE,
        wait_seconds=seconds if plain.mode == "sync" else None,
    )
    return InvokeRequest(command, msgspec.json.encode(plain.payload, order="sorted"))
