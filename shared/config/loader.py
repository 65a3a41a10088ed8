"""Strict reading of one YAML file into a frozen tree of settings."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from shared.config import setting

T = TypeVar("T", bound=msgspec.Struct)

_LONGEST_SHOWN: Final = 80


class ConfigurationError(Exception):
    """A configuration cannot be used; its text has one problem a line."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class Key:
    """One setting as its documentation shows it."""

    name: str
    accepted: str
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class _Flag:
    text: str


def load(kind: type[T], path: Path | None, overrides: Mapping[str, str]) -> T:
    """Read `path` (none: all defaults) into `kind`, with flags laid over it by dotted key."""
    document = {} if path is None else _document(path)
    for key, text in overrides.items():
        _lay_over(document, key, _Flag(text))
    problems: list[str] = []
    settings = _section(kind, document, "", problems)
    if problems:
        raise ConfigurationError(*problems)
    return settings


def keys(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[Key]:
    """Every setting of `kind` in the order it is written, sections flattened."""
    for field in msgspec.structs.fields(kind):
        name = prefix + field.encode_name
        if _is_section(field.type):
            yield from keys(field.type, f"{name}.")
        else:
            default = setting.shown(_default(field))
            accepted, description = setting.accepted(field.type), setting.description(field.type)
            yield Key(name, accepted, default, description)


def flag(key: str) -> str:
    """The flag that overrides a key: `httpAddr` is `--http-addr`."""
    return "--" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key.replace(".", "-")).lower()


def _document(path: Path) -> dict[str, Any]:
    try:
        document = msgspec.yaml.decode(path.read_bytes())
    except FileNotFoundError:
        raise ConfigurationError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"{path}: this is not YAML: {reason}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path}: expected a mapping of keys, got {_quoted(document)}")
    return document


def _lay_over(document: dict[str, Any], key: str, value: _Flag) -> None:
    *sections, name = key.split(".")
    for section in sections:
        inner = document.get(section)
        document[section] = dict(inner) if isinstance(inner, dict) else {}
        document = document[section]
    document[name] = value


def _section(kind: type[T], given: object, prefix: str, problems: list[str]) -> T:
    """Read one mapping; whatever is wrong with it is added to `problems`."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    if not isinstance(given, dict):
        problems.append(f"{prefix[:-1]}: got {_quoted(given)}, expected a mapping of keys")
        return kind()
    values: dict[str, object] = {}
    for name, value in given.items():
        field = fields.get(name)
        if field is None:
            problems.append(_unknown(prefix, str(name), list(fields)))
        elif not _is_section(field.type):
            values[field.name] = _leaf(field.type, value, f"{prefix}{name}", problems)
        elif value is not None:  # a section whose keys are all commented out
            values[field.name] = _section(field.type, value, f"{prefix}{name}.", problems)
    return kind(**values)


def _leaf(kind: Any, given: object, key: str, problems: list[str]) -> object:
    is_flag = isinstance(given, _Flag)
    value = given.text if isinstance(given, _Flag) else given
    try:
        return setting.read(value, kind, is_flag=is_flag)
    except ValueError as error:
        label = flag(key) if is_flag else key
        detail = f" ({error})" if isinstance(value, dict | list) else ""
        problems.append(f"{label}: got {_quoted(value)}, expected {setting.accepted(kind)}{detail}")
        return None


def _unknown(prefix: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean {prefix}{near[0]}?" if near else f"known here: {', '.join(known)}"
    return f"{prefix}{name}: there is no such key; {advice}"


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _default(field: msgspec.structs.FieldInfo) -> object:
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default


def _quoted(given: object) -> str:
    text = "nothing" if given is None else repr(given)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
