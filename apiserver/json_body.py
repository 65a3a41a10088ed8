"""Strict JSON: what could be read in two ways is refused."""

import json
import re
from typing import Any, Final, NoReturn

from apiserver.errors import InvalidRequestError
from shared.problem import cut

DEEPEST: Final = 64

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_LONGEST_NUMBER: Final = 400  # digits; Python refuses to read very long ones
_TEXTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS: Final = re.compile(r"[\[\]{}]")


def decoded(body: bytes) -> dict[str, Any]:
    """The object that `body` holds; InvalidRequestError for anything else."""
    text = _text(body)
    _require_flat(text)
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:  # only an escape can be half of a pair
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno} column {error.colno}"
        raise _malformed(f"{error.msg.removesuffix(' at')} {place}") from None
    except UnicodeEncodeError:
        raise _malformed("a text has half of a surrogate pair") from None
    if not isinstance(value, dict):
        raise InvalidRequestError("the body must be a JSON object")
    return value


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise _malformed(f"byte {error.start} is not UTF-8") from None


def _require_flat(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return  # whatever is inside what
    depth = 0
    for bracket in _BRACKETS.finditer(_TEXTS.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            raise _malformed(f"it is nested deeper than {DEEPEST}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise _malformed(f"the key {json.dumps(cut(key))} is there twice")
        made[key] = value
    return made


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER or not _LOWEST <= int(text) <= _HIGHEST:
        raise _malformed(f"the number {cut(text)} is beyond 64 bits")
    return int(text)


def _fraction(text: str) -> float:
    value = float(text)
    if not _LOWEST <= value <= _HIGHEST:
        raise _malformed(f"the number {cut(text)} is beyond 64 bits")
    return value


def _constant(text: str) -> NoReturn:
    raise _malformed(f"{text} is not a number")


def _malformed(reason: str) -> InvalidRequestError:
    return InvalidRequestError(f"the body is not JSON that can be read: {reason}")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_whole,
    parse_float=_fraction,
    parse_constant=_constant,
)
