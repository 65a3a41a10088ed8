"""How invocations are asked for."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from marshmallow import ValidationError, fields, validate, validates_schema
from msgspec import UNSET

from apiserver.invocations.commands import Invoke
from apiserver.invocations.fields import WAIT, Attributes, Base64, ContentType, InvocationID, Mode
from apiserver.invocations.header_fields import CallerHeaders
from apiserver.invocations.plain_invocation import PlainInvocation, plain_invocation
from apiserver.schemas.fields import Whole
from apiserver.schemas.request import RequestSchema
from apiserver.schemas.resources import MOST
from apiserver.schemas.serverless import RequestID

DEFAULT_WAIT: Final = 30
JSON: Final = "application/json"
BINARY: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Request:
    """An invocation with its payload."""

    command: Invoke
    payload: bytes


class InvokeSchema(RequestSchema[Request]):
    """Call a function with a payload of any JSON value, or of bytes."""

    invocation_id = InvocationID()
    serverless_request_id = RequestID(data_key="serverlessRequestID", required=True)
    mode = Mode()
    content_type = ContentType()
    headers = CallerHeaders()
    attributes = Attributes()
    payload = fields.Raw(
        allow_none=True, metadata={"description": "Any JSON value; the function gets it as JSON."}
    )
    payload_base64 = Base64()
    ttl_seconds = Whole(
        validate=validate.Range(1, MOST, error="must be from {min} to {max}"),
        metadata={"description": "From accepted to final at most; else the function's."},
    )
    wait_seconds = Whole(
        validate=WAIT,
        metadata={"description": f"How long a sync answer waits; default {DEFAULT_WAIT}."},
    )

    @validates_schema
    def check_payload(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two payloads."""
        if "payload" in data and "payload_base64" in data:
            raise ValidationError({"payloadBase64": ["cannot go with payload: give one of them"]})

    def read(self, given: object) -> Request:
        """The request; raises ValidationError."""
        plain = plain_invocation(given)
        return super().read(given) if plain is None else request_of(plain)

    def make(self, data: dict[str, Any]) -> Request:
        """The command, and the payload as the function will get it."""
        mode, wait = data.pop("mode"), data.pop("wait_seconds", DEFAULT_WAIT)
        is_json = "payload" in data
        payload = (
            msgspec.json.encode(data.pop("payload"), order="sorted")
            if is_json
            else data.pop("payload_base64", b"")
        )
        command = Invoke(
            request_id=data.pop("serverless_request_id"),
            wait_seconds=wait if mode == "sync" else None,
            **{"content_type": JSON if is_json else BINARY, **data},
        )
        return Request(command, payload)


def request_of(plain: PlainInvocation) -> Request:
    """What a plain request asks for."""
    seconds = DEFAULT_WAIT if plain.wait_seconds is UNSET else plain.wait_seconds
    command = Invoke(
        request_id=plain.request_id,
        invocation_id=plain.invocation_id,
        content_type=JSON,
        wait_seconds=seconds if plain.mode == "sync" else None,
    )
    return Request(command, msgspec.json.encode(plain.payload, order="sorted"))
