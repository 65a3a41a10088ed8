"""Strict JSON: what could be read in two ways is refused."""

import json
import re
from typing import Any, Final, NoReturn

from shared.v1alpha1.validation.problem import cut

DEEPEST: Final = 64

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_LONGEST_NUMBER: Final = 400  # digits; Python refuses to read very long ones
_TEXTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS: Final = re.compile(r"[\[\]{}]")


class UnreadableError(ValueError):
    """A text that is not JSON, or that could be read in two ways."""


def value_of(text: str) -> Any:
    """The value that `text` holds; UnreadableError says what is wrong with it, and where."""
    _require_flat(text)
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:  # only an escape can be half of a pair
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno} column {error.colno}"
        raise UnreadableError(f"{error.msg.removesuffix(' at')} {place}") from None
    except UnicodeEncodeError:
        raise UnreadableError("a text has half of a surrogate pair") from None
    return value


def _require_flat(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return  # whatever is inside what
    depth = 0
    for bracket in _BRACKETS.finditer(_TEXTS.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            raise UnreadableError(f"it is nested deeper than {DEEPEST}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise UnreadableError(f"the key {json.dumps(cut(key))} is there twice")
        made[key] = value
    return made


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER or not _LOWEST <= int(text) <= _HIGHEST:
        raise UnreadableError(f"the number {cut(text)} is beyond 64 bits")
    return int(text)


def _fraction(text: str) -> float:
    value = float(text)
    if not _LOWEST <= value <= _HIGHEST:
        raise UnreadableError(f"the number {cut(text)} is beyond 64 bits")
    return value


def _constant(text: str) -> NoReturn:
    raise UnreadableError(f"{text} is not a number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_whole,
    parse_float=_fraction,
    parse_constant=_constant,
)
