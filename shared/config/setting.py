"""One value of a configuration: the values that it accepts, and its conversion."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec

from shared.config import address, duration
from shared.config.address import Address
from shared.config.duration import Duration

_ACCEPTED_TEXTS: Final[dict[object, str]] = {
    Duration: duration.ACCEPTED_FORMAT,
    Address: address.ACCEPTED_FORMAT,
    Path: "the path of a file",
    bool: "true or false",
    int: "a whole number",
    str: "text",
    dict: "a mapping",
    list: "a list",
    tuple: "a list",
}
_PARSERS: Final[dict[type, Callable[[str], object]]] = {
    Duration: Duration.parse,
    Address: Address.parse,
    Path: Path,
}


def convert(raw: object, value_type: Any, *, is_flag: bool) -> object:
    """Convert a value from YAML or from a flag to `value_type`; raises ValueError."""
    base, _ = _unwrap(value_type)
    if base in _PARSERS:  # msgspec would expect a mapping of the fields of our types
        return _PARSERS[base](msgspec.convert(raw, str))
    return msgspec.convert(_undo_yaml_boolean(raw, base), value_type, strict=not is_flag)


def accepted_text(value_type: Any) -> str:
    """Return a description of the values that `value_type` accepts."""
    base, notes = _unwrap(value_type)
    if get_origin(base) is Literal:
        return "one of " + ", ".join(map(str, get_args(base)))
    return _ACCEPTED_TEXTS[get_origin(base) or base] + "".join(map(_bounds_text, notes))


def description_of(value_type: Any) -> str:
    """Return the description that `msgspec.Meta` gives to a setting."""
    _, notes = _unwrap(value_type)
    return next((note.description for note in notes if note.description), "")


def format_value(value: object) -> str:
    """Format a value in the notation of a configuration file."""
    if value != "" and isinstance(value, str | Duration | Address | Path):
        return str(value)
    return msgspec.json.encode(value).decode()


def _unwrap(value_type: Any) -> tuple[Any, tuple[msgspec.Meta, ...]]:
    if get_origin(value_type) is Annotated:
        base, *notes = get_args(value_type)
        return base, tuple(note for note in notes if isinstance(note, msgspec.Meta))
    return value_type, ()


def _bounds_text(note: msgspec.Meta) -> str:
    minimum = "" if note.ge is None else f" from {note.ge}"
    maximum = "" if note.le is None else f" to {note.le}"
    return minimum + maximum


def _undo_yaml_boolean(raw: object, base: Any) -> object:
    """Return the word `on` or `off` for a boolean if the word is a choice.

    YAML 1.1 reads a bare `off` as false.
    """
    if not isinstance(raw, bool) or get_origin(base) is not Literal:
        return raw
    word = "on" if raw else "off"
    return word if word in get_args(base) else raw
