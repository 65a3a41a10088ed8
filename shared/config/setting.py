"""One value of a configuration: what it accepts, and how it is read."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec

from shared.config import address, duration
from shared.config.address import Address
from shared.config.duration import Duration

_ACCEPTED: Final[dict[object, str]] = {
    Duration: duration.ACCEPTED,
    Address: address.ACCEPTED,
    Path: "the path of a file",
    bool: "true or false",
    int: "a whole number",
    str: "text",
    dict: "a mapping",
    list: "a list",
    tuple: "a list",
}
_FROM_TEXT: Final[dict[type, Callable[[str], object]]] = {
    Duration: Duration.parse,
    Address: Address.parse,
    Path: Path,
}


def read(given: object, kind: Any, *, is_flag: bool) -> object:
    """Convert what YAML or a flag gave to `kind`, or raise ValueError."""
    base, _ = _unwrapped(kind)
    if base in _FROM_TEXT:  # msgspec would take our values for records of their fields
        return _FROM_TEXT[base](msgspec.convert(given, str))
    return msgspec.convert(_undo_yaml_boolean(given, base), kind, strict=not is_flag)


def accepted(kind: Any) -> str:
    """Say in words which values `kind` accepts."""
    base, notes = _unwrapped(kind)
    if get_origin(base) is Literal:
        return "one of " + ", ".join(map(str, get_args(base)))
    return _ACCEPTED[get_origin(base) or base] + "".join(map(_bounds, notes))


def description(kind: Any) -> str:
    """The sentence that `msgspec.Meta` gives to a setting."""
    _, notes = _unwrapped(kind)
    return next((note.description for note in notes if note.description), "")


def shown(value: object) -> str:
    """Write a value the way a configuration file would."""
    if value != "" and isinstance(value, str | Duration | Address | Path):
        return str(value)
    return msgspec.json.encode(value).decode()


def _unwrapped(kind: Any) -> tuple[Any, tuple[msgspec.Meta, ...]]:
    if get_origin(kind) is Annotated:
        base, *notes = get_args(kind)
        return base, tuple(note for note in notes if isinstance(note, msgspec.Meta))
    return kind, ()


def _bounds(note: msgspec.Meta) -> str:
    lowest = "" if note.ge is None else f" from {note.ge}"
    highest = "" if note.le is None else f" to {note.le}"
    return lowest + highest


def _undo_yaml_boolean(given: object, base: Any) -> object:
    """YAML 1.1 reads a bare `off` as false; where `off` is a choice, that is what was meant."""
    if not isinstance(given, bool) or get_origin(base) is not Literal:
        return given
    word = "on" if given else "off"
    return word if word in get_args(base) else given
