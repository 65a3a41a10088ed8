"""Objects inside requests and views, read and written the same way."""

from typing import Any, ClassVar, TypeVar

import msgspec
from marshmallow import post_dump

from apiserver.schemas.request import RequestSchema

S = TypeVar("S", bound=msgspec.Struct)


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
