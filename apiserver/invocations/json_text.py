"""JSON objects in a query, where everything is text."""

from typing import Any

from marshmallow import ValidationError

from apiserver.schemas.strict_json import InvalidJsonError, parse_strict_json


def parse_json_object(text: str) -> dict[str, Any]:
    """The object that the text is; ValidationError."""
    try:
        found = parse_strict_json(text)
    except InvalidJsonError as error:
        raise ValidationError(f"is not JSON that can be read: {error}") from None
    if not isinstance(found, dict):
        raise ValidationError("is not an object")
    return found
