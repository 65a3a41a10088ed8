"""How invocations are asked for."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from marshmallow import ValidationError, fields, validate, validates_schema
from msgspec import UNSET

from apiserver.invocations.commands import Invoke
from apiserver.invocations.fields import (
    WAIT_RANGE,
    Attributes,
    Base64Bytes,
    ContentType,
    InvocationID,
    InvocationMode,
)
from apiserver.invocations.header_fields import CallerHeaders
from apiserver.invocations.plain_invocation import PlainInvocation, parse_plain_invocation
from apiserver.schemas.fields import StrictInteger
from apiserver.schemas.request import RequestSchema
from apiserver.schemas.resources import MAX_INT32
from apiserver.schemas.serverless import FunctionName

DEFAULT_WAIT_SECONDS: Final = 30
JSON_CONTENT_TYPE: Final = "application/json"
BINARY_CONTENT_TYPE: Final = "application/octet-stream"


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
        allow_none=True, metadata={"description": "Any JSON value; the function gets it as JSON."}
    )
    payload_base64 = Base64Bytes()
    ttl_seconds = StrictInteger(
        validate=validate.Range(1, MAX_INT32, error="must be from {min} to {max}"),
        metadata={"description": "From accepted to final at most; else the function's."},
    )
    wait_seconds = StrictInteger(
        validate=WAIT_RANGE,
        metadata={"description": f"How long a sync answer waits; default {DEFAULT_WAIT_SECONDS}."},
    )

    @validates_schema
    def check_payload(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two payloads."""
        if "payload" in data and "payload_base64" in data:
            raise ValidationError({"payloadBase64": ["cannot go with payload: give one of them"]})

    def parse(self, raw: object) -> InvokeRequest:
        """The request; raises ValidationError."""
        plain = parse_plain_invocation(raw)
        return super().parse(raw) if plain is None else invoke_request(plain)

    def build(self, data: dict[str, Any]) -> InvokeRequest:
        """The command, and the payload as the function will get it."""
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


def invoke_request(plain: PlainInvocation) -> InvokeRequest:
    """What a plain request asks for."""
    seconds = DEFAULT_WAIT_SECONDS if plain.wait_seconds is UNSET else plain.wait_seconds
    command = Invoke(
        function_name=plain.function_name,
        invocation_id=plain.invocation_id,
        content_type=JSON_CONTENT_TYPE,
        wait_seconds=seconds if plain.mode == "sync" else None,
    )
    return InvokeRequest(command, msgspec.json.encode(plain.payload, order="sorted"))
