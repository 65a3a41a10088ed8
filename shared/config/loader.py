"""A strict loader that reads one YAML file into a frozen tree of settings."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from shared.config import setting

T = TypeVar("T", bound=msgspec.Struct)

_MAX_SHOWN_LENGTH: Final = 80


class ConfigurationError(Exception):
    """An invalid configuration; the text of the error has one problem per line."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One setting as the documentation shows it."""

    name: str
    accepted: str
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class _FlagValue:
    text: str


def load_config(config_type: type[T], path: Path | None, overrides: Mapping[str, str]) -> T:
    """Read the file `path` (None: all defaults); `overrides` replaces values by dotted key."""
    document = {} if path is None else _read_document(path)
    for key, text in overrides.items():
        _set_override(document, key, _FlagValue(text))
    problems: list[str] = []
    settings = _read_section(config_type, document, "", problems)
    if problems:
        raise ConfigurationError(*problems)
    return settings


def config_keys(config_type: type[msgspec.Struct], prefix: str = "") -> Iterator[ConfigKey]:
    """Return every setting of a type in the order of its definition, with sections flattened."""
    for field in msgspec.structs.fields(config_type):
        name = prefix + field.encode_name
        if _is_section(field.type):
            yield from config_keys(field.type, f"{name}.")
        else:
            default = setting.format_value(_default_value(field))
            accepted, description = (
                setting.accepted_text(field.type),
                setting.description_of(field.type),
            )
            yield ConfigKey(name, accepted, default, description)


def flag_name(key: str) -> str:
    """Return the flag that overrides a key: `--http-addr` for `httpAddr`."""
    return "--" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key.replace(".", "-")).lower()


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = msgspec.yaml.decode(path.read_bytes())
    except FileNotFoundError:
        raise ConfigurationError(f"{path}: file not found") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"{path}: invalid YAML: {reason}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path}: expected a mapping of keys, got {_quote(document)}")
    return document


def _set_override(document: dict[str, Any], key: str, value: _FlagValue) -> None:
    *sections, name = key.split(".")
    for section in sections:
        inner = document.get(section)
        document[section] = dict(inner) if isinstance(inner, dict) else {}
        document = document[section]
    document[name] = value


def _read_section(section_type: type[T], raw: object, prefix: str, problems: list[str]) -> T:
    """Read one mapping and add every problem with it to `problems`."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(section_type)}
    if not isinstance(raw, dict):
        problems.append(f"{prefix[:-1]}: got {_quote(raw)}, expected a mapping of keys")
        return section_type()
    values: dict[str, object] = {}
    for name, value in raw.items():
        field = fields.get(name)
        if field is None:
            problems.append(_unknown_key_problem(prefix, str(name), list(fields)))
        elif not _is_section(field.type):
            values[field.name] = _read_value(field.type, value, f"{prefix}{name}", problems)
        elif value is not None:  # a section whose keys are all commented out
            values[field.name] = _read_section(field.type, value, f"{prefix}{name}.", problems)
    return section_type(**values)


def _read_value(value_type: Any, raw: object, key: str, problems: list[str]) -> object:
    is_flag = isinstance(raw, _FlagValue)
    value = raw.text if isinstance(raw, _FlagValue) else raw
    try:
        return setting.convert(value, value_type, is_flag=is_flag)
    except ValueError as error:
        label = flag_name(key) if is_flag else key
        detail = f" ({error})" if isinstance(value, dict | list) else ""
        problems.append(
            f"{label}: got {_quote(value)}, expected {setting.accepted_text(value_type)}{detail}"
        )
        return None


def _unknown_key_problem(prefix: str, name: str, known: list[str]) -> str:
    similar = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean {prefix}{similar[0]}?" if similar else f"use one of {', '.join(known)}"
    return f"{prefix}{name}: unknown key; {advice}"


def _is_section(field_type: Any) -> bool:
    return isinstance(field_type, type) and issubclass(field_type, msgspec.Struct)


def _default_value(field: msgspec.structs.FieldInfo) -> object:
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default


def _quote(value: object) -> str:
    text = "an empty value" if value is None else repr(value)
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[: _MAX_SHOWN_LENGTH - 3] + "..."
