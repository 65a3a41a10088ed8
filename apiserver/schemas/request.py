"""Reading requests: every problem is found, and named by the path of its field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

import msgspec
from marshmallow import RAISE, Schema, ValidationError, fields, post_dump, post_load

from apiserver.errors import ErrorDetail, problem_details
from shared.v1alpha1.validation.problem import Problem, truncate

C = TypeVar("C")
S = TypeVar("S", bound=msgspec.Struct)

_SCHEMA_KEY = "_schema"  # where marshmallow puts what is wrong with an object as a whole


class CamelSchema(Schema):
    """`spec_name` is `specName` there, unless the field says otherwise."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Name the field as the wire does."""
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


def camel_case(name: str) -> str:
    """`spec_name` as `specName`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


class RequestSchema(CamelSchema, Generic[C]):
    """Reads a `C`; `refusals` say of fields that there are not why there are not."""

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
        """The value that the fields stand for."""
        return self.build(data)

    def build(self, data: dict[str, Any]) -> C:
        """The value of fields that have passed every check."""
        raise NotImplementedError

    def parse(self, raw: object) -> C:
        """The value of decoded JSON; raises ValidationError."""
        return cast("C", self.load(cast("Mapping[str, Any]", raw)))

    def handle_error(self, error: ValidationError, data: Any, **_: Any) -> None:
        """Say why a field is refused where that is known."""
        if isinstance(error.messages, dict) and isinstance(data, Mapping):
            for name, why in self.unsupported_fields.items():
                if name in data and name in error.messages:
                    error.messages[name] = [why]


class ModelSchema(RequestSchema[S]):
    """Reads and writes one model; what is not set is not written."""

    model: ClassVar[type[msgspec.Struct]]

    def build(self, data: dict[str, Any]) -> S:
        """The model of these fields."""
        return self.model(**data)  # type: ignore[return-value]

    @post_dump
    def drop_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop the fields that nobody has set."""
        return drop_empty(data)


def drop_empty(data: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something; 0 and false do."""
    return {
        name: value
        for name, value in data.items()
        if value not in (None, "") and value not in ([], {})
    }


def rule_validator(rule: Callable[[Any], Iterable[Problem]], path: str) -> Callable[[Any], None]:
    """A validator that lists what a rule has against the part of a spec `under` that path."""

    def check(value: Any) -> None:
        found = problem_details(rule(value))
        if found:
            places = [ErrorDetail(each.field.removeprefix(path), each.message) for each in found]
            raise ValidationError(cast("list[Any]", places))

    return check


def error_details(error: ValidationError, prefix: str = "") -> tuple[ErrorDetail, ...]:
    """Every problem that was found, by the path of its field."""
    return tuple(_flatten(prefix, error.messages))


def _flatten(path: str, messages: object) -> Iterator[ErrorDetail]:
    if isinstance(messages, ErrorDetail):
        yield ErrorDetail(path + messages.field, messages.message)
    elif isinstance(messages, list):
        for each in messages:
            yield from _flatten(path, each)
    elif isinstance(messages, dict):
        for key, inner in messages.items():
            yield from _flatten(_join_path(path, key), inner)
    else:
        yield ErrorDetail(path or "body", str(messages))


def _join_path(path: str, key: str | int) -> str:
    if key == _SCHEMA_KEY:
        return path
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{truncate(key)}" if path else truncate(key)
