"""Schemas of requests: every problem is reported with the path of its field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

import msgspec
from marshmallow import RAISE, Schema, ValidationError, fields, post_dump, post_load

from apiserver.errors import ErrorDetail, problem_details
from shared.v1alpha1.validation.problem import Problem, truncate

C = TypeVar("C")
S = TypeVar("S", bound=msgspec.Struct)

_SCHEMA_KEY = "_schema"  # the key under which marshmallow puts the errors of an object as a whole


class CamelSchema(Schema):
    """A schema that names fields in camelCase, unless a field has a `data_key`."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Set the name of the field in JSON."""
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


def camel_case(name: str) -> str:
    """Return `specName` for `spec_name`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


class RequestSchema(CamelSchema, Generic[C]):
    """A schema that parses a `C`; `unsupported_fields` maps fields to their error message."""

    class Meta:
        unknown = RAISE

    field_noun: ClassVar[str] = "field"
    unsupported_fields: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **options: Any) -> None:
        self.error_messages = {
            "type": "is not an object",
            "unknown": f"there is no such {self.field_noun}",
        }
        super().__init__(**options)

    @post_load
    def build_value(self, data: dict[str, Any], **_: Any) -> C:
        """Return the value of the fields."""
        return self.build(data)

    def build(self, data: dict[str, Any]) -> C:
        """Return the value of valid fields."""
        raise NotImplementedError

    def parse(self, raw: object) -> C:
        """Return the value of decoded JSON; raises ValidationError."""
        return cast("C", self.load(cast("Mapping[str, Any]", raw)))

    def handle_error(self, error: ValidationError, data: Any, **_: Any) -> None:
        """Replace the error of an unsupported field by its own message."""
        if isinstance(error.messages, dict) and isinstance(data, Mapping):
            for name, message in self.unsupported_fields.items():
                if name in data and name in error.messages:
                    error.messages[name] = [message]


class ModelSchema(RequestSchema[S]):
    """A schema that parses and dumps one model; unset fields are left out."""

    model: ClassVar[type[msgspec.Struct]]

    def build(self, data: dict[str, Any]) -> S:
        """Return the model of the fields."""
        return self.model(**data)  # type: ignore[return-value]

    @post_dump
    def drop_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop unset fields."""
        return drop_empty(data)


def drop_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are not empty; 0 and false are kept."""
    return {
        name: value
        for name, value in data.items()
        if value not in (None, "") and value not in ([], {})
    }


def rule_validator(rule: Callable[[Any], Iterable[Problem]], path: str) -> Callable[[Any], None]:
    """Return a validator that reports the problems of a rule; `path` is cut from their fields."""

    def check(value: Any) -> None:
        details = [
            detail._replace(field=detail.field.removeprefix(path))
            for detail in problem_details(rule(value))
        ]
        if details:
            raise ValidationError(cast("list[Any]", details))

    return check


def error_details(error: ValidationError, prefix: str = "") -> tuple[ErrorDetail, ...]:
    """Return every problem with the path of its field."""
    return tuple(_flatten(prefix, error.messages))


def _flatten(path: str, messages: object) -> Iterator[ErrorDetail]:
    if isinstance(messages, ErrorDetail):
        yield ErrorDetail(path + messages.field, messages.message)
    elif isinstance(messages, list):
        for item in messages:
            yield from _flatten(path, item)
    elif isinstance(messages, dict):
        for key, value in messages.items():
            yield from _flatten(_join_path(path, key), value)
    else:
        yield ErrorDetail(path or "body", str(messages))


def _join_path(path: str, key: str | int) -> str:
    if key == _SCHEMA_KEY:
        return path
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{truncate(key)}" if path else truncate(key)
