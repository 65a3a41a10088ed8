"""Fields of invocations."""

import base64
import binascii
import re
from typing import Any, Final

import msgspec
from marshmallow import ValidationError, fields, validate

from apiserver.schemas.fields import StrictDict, StrictString, predicate_validator
from apiserver.schemas.strict_json import InvalidJsonError, parse_strict_json
from shared.invocation.ids import INVOCATION_ID_PATTERN, is_invocation_id
from shared.invocation.limits import MAX_ATTRIBUTE_BYTES

MAX_WAIT_SECONDS: Final = 300
MAX_CONTENT_TYPE_LENGTH: Final = 256
MODES: Final = ("async", "sync")
INVOCATION_ID_RULES: Final = {"pattern": INVOCATION_ID_PATTERN, "maxLength": 64}
WAIT_RANGE: Final = validate.Range(1, MAX_WAIT_SECONDS, error="must be from {min} to {max}")

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105
_CONTENT_TYPE_PATTERN: Final = re.compile(
    rf'{_TOKEN}/{_TOKEN}( ?; ?{_TOKEN}=({_TOKEN}|"[ !#-\[\]-~]*"))*', re.ASCII
)


class InvocationID(StrictString):
    """The caller's name for one invocation, which is unique in its function."""

    def __init__(self) -> None:
        message = "is not an invocationID: letters, digits, - and _, at most 64"
        super().__init__(
            data_key="invocationID",
            validate=predicate_validator(is_invocation_id, message),
            metadata={
                "description": "Your id of this invocation; a repeated request runs it only once.",
                **INVOCATION_ID_RULES,
            },
        )


class InvocationMode(StrictString):
    """Whether the response waits for the outcome."""

    def __init__(self) -> None:
        super().__init__(
            load_default="async", validate=validate.OneOf(MODES, error="must be async or sync")
        )


class ContentType(StrictString):
    """The media type of a payload."""

    def __init__(self) -> None:
        message = "is not a media type such as application/json"
        super().__init__(
            validate=predicate_validator(is_content_type, message),
            metadata={
                "description": "The media type of the payload.",
                "example": "application/json",
            },
        )


def is_content_type(text: str) -> bool:
    """Return whether `text` can be the value of a Content-Type header."""
    return (
        len(text) <= MAX_CONTENT_TYPE_LENGTH and _CONTENT_TYPE_PATTERN.fullmatch(text) is not None
    )


class Attributes(StrictDict):
    """A small JSON object that is passed to the function with the payload."""

    def __init__(self) -> None:
        super().__init__(
            keys=fields.String(),
            validate=check_attributes_size,
            metadata={
                "description": "Any values for the function, "
                f"at most {MAX_ATTRIBUTE_BYTES} bytes as JSON.",
                "additionalProperties": True,
            },
        )


class AttributesParameter(StrictString):
    """Attributes as a query parameter, which holds JSON as text."""

    def __init__(self) -> None:
        super().__init__(
            validate=check_attributes_size,
            metadata={
                "description": "Any values for the function: a JSON object as text, "
                f"at most {MAX_ATTRIBUTE_BYTES} bytes.",
                "x-example": '{"language": "en"}',
            },
        )

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return parse_json_object(super()._deserialize(value, *args, **kwargs))


def check_attributes_size(attributes: dict[str, Any]) -> None:
    """Raise ValidationError for attributes that do not fit into a header."""
    if len(msgspec.json.encode(attributes)) > MAX_ATTRIBUTE_BYTES:
        raise ValidationError(f"is larger than {MAX_ATTRIBUTE_BYTES} bytes as JSON")


class Base64Bytes(StrictString):
    """Bytes as base64 with padding."""

    def __init__(self) -> None:
        super().__init__(metadata={"format": "byte"})

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise ValidationError("is not base64") from None


def parse_json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in the text; ValidationError."""
    try:
        value = parse_strict_json(text)
    except InvalidJsonError as error:
        raise ValidationError(f"is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValidationError("is not a JSON object")
    return value
