"""One value of a configuration: what it accepts, and how it is read."""

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
    """Convert what YAML or a flag gave to `kind`, or raise ValueError."""
    base, _ = _unwrap(value_type)
    if base in _PARSERS:  # msgspec would take our values for records of their fields
        return _PARSERS[base](msgspec.convert(raw, str))
    return msgspec.convert(_undo_yaml_boolean(raw, base), value_type, strict=not is_flag)


def accepted_text(value_type: Any) -> str:
    """Say in words which values `kind` accepts."""
    base, notes = _unwrap(value_type)
    if get_origin(base) is Literal:
        return "one of " + ", ".join(map(str, get_args(base)))
    return _ACCEPTED_TEXTS[get_origin(base) or base] + "".join(map(_bounds_text, notes))


def description_of(value_type: Any) -> str:
    """The sentence that `msgspec.Meta` gives to a setting."""
    _, notes = _unwrap(value_type)
    return next((note.description for note in notes if note.description), "")


def format_value(value: object) -> str:
    """Write a value the way a configuration file would."""
    if value != "" and isinstance(value, str | Duration | Address | Path):
        return str(value)
    return msgspec.json.encode(value).decode()


def _unwrap(value_type: Any) -> tuple[Any, tuple[msgspec.Meta, ...]]:
    if get_origin(value_type) is Annotated:
        base, *notes = get_args(value_type)
        return base, tuple(note for note in notes if isinstance(note, msgspec.Meta))
    return value_type, ()


def _bounds_text(note: msgspec.Meta) -> str:
    lowest = "" if note.ge is None else f" from {note.ge}"
    highest = "" if note.le is None else f" to {note.le}"
    return lowest + highest


def _undo_yaml_boolean(raw: object, base: Any) -> object:
    """YAML 1.1 reads a bare `off` as false; where `off` is a choice, that is what was meant."""
    if not isinstance(raw, bool) or get_origin(base) is not Literal:
        return raw
    word = "on" if raw else "off"
    return word if word in get_args(base) else raw
