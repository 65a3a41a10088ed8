"""Fields that take a value as it is or refuse it: nothing is converted."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

from marshmallow import ValidationError, fields
from marshmallow.exceptions import SCHEMA

from apiserver.details import words
from apiserver.errors import Detail
from shared.v1alpha1.validation.problem import Problem, cut

LONGEST_LIST: Final = 4096

_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def _words(**more: str) -> dict[str, Any]:
    return {"required": "is required", "null": "must not be null", **more}


class Text(fields.String):
    """Text; NUL is refused, because no program can be given it."""

    default_error_messages = _words(invalid="is not text", nul="has a NUL character")

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> str:
        text: str = super()._deserialize(value, *rest, **more)
        if "\0" in text:
            raise self.make_error("nul")
        return text


class Whole(fields.Integer):
    """A whole number; neither 1.0 nor "1" nor true is one."""

    default_error_messages = _words(invalid="is not a whole number")

    def __init__(self, **options: Any) -> None:
        super().__init__(strict=True, **options)


class Count(fields.Integer):
    """A whole number in a query, where everything is text."""

    default_error_messages = _words(invalid="is not a whole number")

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> int:
        if not _COUNT.fullmatch(value):
            raise self.make_error("invalid")
        return int(value)


class YesNo(fields.Boolean):
    """true or false, and no word for it."""

    default_error_messages = _words(invalid="is neither true nor false")

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class ListOf(fields.List[Any]):
    """A list, read as a tuple; it has an end, because every item costs time to check."""

    default_error_messages = _words(
        invalid="is not a list", long=f"has more than {LONGEST_LIST} items"
    )

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(value, list) and len(value) > LONGEST_LIST:
            raise self.make_error("long")
        try:
            return tuple(super()._deserialize(value, *rest, **more))
        except ValidationError as error:
            if isinstance(error.messages, dict):
                error.messages[SCHEMA] = self._against_others(value, error.messages)
            raise

    def _against_others(self, value: list[Any], wrong: Container[object]) -> list[Detail]:
        """What stands against the items that could be read, by their places in the whole list."""
        places = [place for place in range(len(value)) if place not in wrong]
        read = tuple(self.inner.deserialize(value[place]) for place in places)
        return [_moved(each, places) for each in problems_of(self, read)]


class Part(fields.Nested):
    """An object inside an object."""

    default_error_messages = _words()


class AnyMap(fields.Dict):
    """An object of any values."""

    default_error_messages = _words(invalid="is not an object")


class TextMap(fields.Dict):
    """An object whose values are text."""

    default_error_messages = _words(invalid="is not an object")

    def __init__(self, **options: Any) -> None:
        super().__init__(keys=fields.String(), values=fields.String(), **options)

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> dict[str, str]:
        if not isinstance(value, Mapping):
            raise self.make_error("invalid")
        texts = {key: each for key, each in value.items() if isinstance(each, str)}
        wrong = [Detail(f"[{cut(key)!r}]", "is not text") for key in value if key not in texts]
        if wrong:
            raise ValidationError([*wrong, *problems_of(self, texts)])
        return texts


def problems_of(field: fields.Field[Any], value: object) -> list[Detail]:
    """What the validators of a field have against a part of what was given."""
    try:
        field._validate(value)  # noqa: SLF001 - marshmallow asks them about the whole only
    except ValidationError as error:
        return [each for each in error.messages if isinstance(each, Detail)]
    return []


def _moved(detail: Detail, places: Sequence[int]) -> Detail:
    """The same of an item that stands at another place: `[0].name` is `[places[0]].name`."""
    number, _, inside = detail.field.removeprefix("[").partition("]")
    return Detail(f"[{places[int(number)]}]{inside}", detail.message)


def matching(test: Callable[[str], object], message: str) -> Callable[[str], None]:
    """A validator that shows what was given and says what is wrong with it."""

    def check(text: str) -> None:
        if not test(text):
            raise ValidationError(words(Problem("", text, message)))

    return check
