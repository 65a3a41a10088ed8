"""Reading requests: every problem is found, and named by the path of its field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

from marshmallow import RAISE, ValidationError, post_load

from apiserver.details import request_details
from apiserver.errors import Detail
from apiserver.schemas.camel import CamelSchema
from shared.v1alpha1.validation.problem import Problem, cut

C = TypeVar("C")

_WHOLE = "_schema"  # where marshmallow puts what is wrong with an object as a whole


class RequestSchema(CamelSchema, Generic[C]):
    """Reads a `C`; `refusals` say of fields that there are not why there are not."""

    class Meta:
        unknown = RAISE

    what: ClassVar[str] = "field"
    refusals: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **options: Any) -> None:
        self.error_messages = {
            "type": "is not an object",
            "unknown": f"there is no such {self.what}",
        }
        super().__init__(**options)

    @post_load
    def made(self, data: dict[str, Any], **_: Any) -> C:
        """The value that the fields stand for."""
        return self.make(data)

    def make(self, data: dict[str, Any]) -> C:
        """The value of fields that have passed every check."""
        raise NotImplementedError

    def read(self, given: object) -> C:
        """The value of decoded JSON; raises ValidationError."""
        return cast("C", self.load(cast("Mapping[str, Any]", given)))

    def handle_error(self, error: ValidationError, data: Any, **_: Any) -> None:
        """Say why a field is refused where that is known."""
        if isinstance(error.messages, dict) and isinstance(data, Mapping):
            for name, why in self.refusals.items():
                if name in data and name in error.messages:
                    error.messages[name] = [why]


def by_rule(rule: Callable[[Any], Iterable[Problem]], under: str) -> Callable[[Any], None]:
    """A validator that lists what a rule has against the part of a spec `under` that path."""

    def check(value: Any) -> None:
        found = request_details(rule(value))
        if found:
            places = [Detail(each.field.removeprefix(under), each.message) for each in found]
            raise ValidationError(cast("list[Any]", places))

    return check


def details_of(error: ValidationError, prefix: str = "") -> tuple[Detail, ...]:
    """Every problem that was found, by the path of its field."""
    return tuple(_flat(prefix, error.messages))


def _flat(path: str, messages: object) -> Iterator[Detail]:
    if isinstance(messages, Detail):
        yield Detail(path + messages.field, messages.message)
    elif isinstance(messages, list):
        for each in messages:
            yield from _flat(path, each)
    elif isinstance(messages, dict):
        for key, inner in messages.items():
            yield from _flat(_joined(path, key), inner)
    else:
        yield Detail(path or "body", str(messages))


def _joined(path: str, key: str | int) -> str:
    if key == _WHOLE:
        return path
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{cut(key)}" if path else cut(key)
