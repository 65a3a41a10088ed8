"""Strict fields: they accept or reject a value and convert nothing."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

from marshmallow import ValidationError, fields
from marshmallow.exceptions import SCHEMA

from apiserver.errors import ErrorDetail, describe_problem
from shared.v1alpha1.validation.problem import Problem, truncate

MAX_LIST_ITEMS: Final = 4096

_DIGITS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def _messages(**more: str) -> dict[str, Any]:
    return {"required": "is required", "null": "must not be null", **more}


class StrictString(fields.String):
    """Text without NUL, because NUL cannot be passed to a program."""

    default_error_messages = _messages(invalid="is not text", nul="has a NUL character")

    def _deserialize(self, value: Any, *args: Any, **options: Any) -> str:
        text: str = super()._deserialize(value, *args, **options)
        if "\0" in text:
            raise self.make_error("nul")
        return text


class StrictInteger(fields.Integer):
    """A whole number; 1.0, "1" and true are rejected."""

    default_error_messages = _messages(invalid="is not a whole number")

    def __init__(self, **options: Any) -> None:
        super().__init__(strict=True, **options)


class QueryInteger(fields.Integer):
    """A whole number in a query, where every value is text."""

    default_error_messages = _messages(invalid="is not a whole number")

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> int:
        if not _DIGITS.fullmatch(value):
            raise self.make_error("invalid")
        return int(value)


class StrictBoolean(fields.Boolean):
    """true or false; strings and numbers are rejected."""

    default_error_messages = _messages(invalid="is neither true nor false")

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class StrictList(fields.List[Any]):
    """A list, read as a tuple; its length is limited, because every item costs time to check."""

    default_error_messages = _messages(
        invalid="is not a list", long=f"has more than {MAX_LIST_ITEMS} items"
    )

    def _deserialize(self, value: Any, *args: Any, **options: Any) -> Any:
        if isinstance(value, list) and len(value) > MAX_LIST_ITEMS:
            raise self.make_error("long")
        try:
            return tuple(super()._deserialize(value, *args, **options))
        except ValidationError as error:
            if isinstance(error.messages, dict):
                error.messages[SCHEMA] = self._valid_item_details(value, error.messages)
            raise

    def _valid_item_details(
        self, value: list[Any], failed_indices: Container[object]
    ) -> list[ErrorDetail]:
        """Return the problems of the readable items, by their indices in the whole list."""
        indices = [index for index in range(len(value)) if index not in failed_indices]
        items = tuple(self.inner.deserialize(value[index]) for index in indices)
        return [_reindexed(detail, indices) for detail in validator_details(self, items)]


class StrictNested(fields.Nested):
    """An object inside an object."""

    default_error_messages = _messages()


class StrictDict(fields.Dict):
    """An object with values of any type."""

    default_error_messages = _messages(invalid="is not an object")


class StringDict(fields.Dict):
    """An object whose values are text."""

    default_error_messages = _messages(invalid="is not an object")

    def __init__(self, **options: Any) -> None:
        super().__init__(keys=fields.String(), values=fields.String(), **options)

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> dict[str, str]:
        if not isinstance(value, Mapping):
            raise self.make_error("invalid")
        texts = {key: text for key, text in value.items() if isinstance(text, str)}
        details = [
            ErrorDetail(f"[{truncate(key)!r}]", "is not text") for key in value if key not in texts
        ]
        if details:
            raise ValidationError([*details, *validator_details(self, texts)])
        return texts


def validator_details(field: fields.Field[Any], value: object) -> list[ErrorDetail]:
    """Return the problems that the validators of a field find in a part of a value."""
    try:
        field._validate(value)  # noqa: SLF001 - marshmallow validates only whole values
    except ValidationError as error:
        return [detail for detail in error.messages if isinstance(detail, ErrorDetail)]
    return []


def _reindexed(detail: ErrorDetail, indices: Sequence[int]) -> ErrorDetail:
    """Return the problem under another index: `[0].name` becomes `[indices[0]].name`."""
    index, _, path = detail.field.removeprefix("[").partition("]")
    return ErrorDetail(f"[{indices[int(index)]}]{path}", detail.message)


def predicate_validator(predicate: Callable[[str], object], message: str) -> Callable[[str], None]:
    """Return a validator whose error shows the value and the problem."""

    def check(text: str) -> None:
        if not predicate(text):
            raise ValidationError(describe_problem(Problem("", text, message)))

    return check
