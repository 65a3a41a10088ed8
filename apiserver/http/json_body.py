"""Bodies that are one JSON object."""

from typing import Any

from apiserver.errors import InvalidRequestError
from apiserver.schemas.strict_json import InvalidJsonError, parse_strict_json


def decode_json_object(body: bytes) -> dict[str, Any]:
    """The object that `body` holds; InvalidRequestError for anything else."""
    try:
        value = parse_strict_json(_decode_utf8(body))
    except InvalidJsonError as error:
        raise InvalidRequestError(f"the body is not JSON that can be read: {error}") from None
    if not isinstance(value, dict):
        raise InvalidRequestError("the body must be a JSON object")
    return value


def _decode_utf8(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidJsonError(f"byte {error.start} is not UTF-8") from None
