"""Schemas of query parameters."""

from dataclasses import dataclass
from typing import Any, Final

from marshmallow import validate

from apiserver.schemas.fields import QueryInteger, StrictString, predicate_validator
from apiserver.schemas.label_selector import ACCEPTED_FORMAT, is_label_selector
from apiserver.schemas.request import C, RequestSchema

MAX_PAGE_SIZE: Final = 500
DEFAULT_PAGE_SIZE: Final = 100

_MAX_SELECTOR_LENGTH: Final = 4096


class QuerySchema(RequestSchema[C]):
    """A schema of query parameters; its error messages call fields parameters."""

    field_noun = "parameter"


class LabelSelector(StrictString):
    """A label selector for a list."""

    def __init__(self) -> None:
        super().__init__(
            validate=[
                validate.Length(max=_MAX_SELECTOR_LENGTH, error="is longer than {max} characters"),
                predicate_validator(is_label_selector, f"is not {ACCEPTED_FORMAT}"),
            ],
            metadata={"description": "A Kubernetes label selector."},
        )


class PagedQuerySchema(QuerySchema[C]):
    """The parameters that all lists share."""

    limit = QueryInteger(
        load_default=DEFAULT_PAGE_SIZE,
        validate=validate.Range(1, MAX_PAGE_SIZE, error="must be from {min} to {max}"),
    )
    continue_token = StrictString(
        data_key="continue",
        load_default="",
        metadata={"description": "The `meta.continue` of the previous page."},
    )


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The size of a page, and its continue token."""

    limit: int
    continue_token: str


class PageQuerySchema(PagedQuerySchema[PageQuery]):
    """The parameters of a list without filters."""

    def build(self, data: dict[str, Any]) -> PageQuery:
        """Return the query."""
        return PageQuery(**data)
