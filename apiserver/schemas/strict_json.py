"""A strict JSON parser that rejects ambiguous texts."""

import json
import re
from typing import Any, Final, NoReturn

from shared.v1alpha1.validation.problem import truncate

MAX_DEPTH: Final = 64

_MIN_NUMBER, _MAX_NUMBER = -(2**63), 2**63 - 1
_MAX_NUMBER_DIGITS: Final = 400  # the digits of a number; Python refuses to convert very long ones
_STRING_PATTERN: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET_PATTERN: Final = re.compile(r"[\[\]{}]")


class InvalidJsonError(ValueError):
    """The text is not JSON, or is ambiguous."""


def parse_strict_json(text: str) -> Any:
    """Return the value of `text`; InvalidJsonError names the problem and its position."""
    _require_max_depth(text)
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:  # only an escape can be an unpaired surrogate
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        position = f"at line {error.lineno} column {error.colno}"
        raise InvalidJsonError(f"{error.msg.removesuffix(' at')} {position}") from None
    except UnicodeEncodeError:
        raise InvalidJsonError("a string contains an unpaired surrogate") from None
    return value


def _require_max_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return  # deeper nesting is impossible
    depth = 0
    for bracket in _BRACKET_PATTERN.finditer(_STRING_PATTERN.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidJsonError(f"it is nested deeper than {MAX_DEPTH} levels")


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise InvalidJsonError(f"the key {json.dumps(truncate(key))} is repeated")
        values[key] = value
    return values


def _parse_integer(text: str) -> int:
    if len(text) > _MAX_NUMBER_DIGITS or not _MIN_NUMBER <= int(text) <= _MAX_NUMBER:
        raise InvalidJsonError(f"the number {truncate(text)} exceeds 64 bits")
    return int(text)


def _parse_float(text: str) -> float:
    value = float(text)
    if not _MIN_NUMBER <= value <= _MAX_NUMBER:
        raise InvalidJsonError(f"the number {truncate(text)} exceeds 64 bits")
    return value


def _reject_constant(text: str) -> NoReturn:
    raise InvalidJsonError(f"{text} is not a number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_parse_object,
    parse_int=_parse_integer,
    parse_float=_parse_float,
    parse_constant=_reject_constant,
)
