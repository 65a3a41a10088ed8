"""Strict reading of query parameters."""

from typing import Final

from aiohttp import web
from marshmallow import ValidationError

from apiserver.errors import ErrorDetail, InvalidRequestError
from apiserver.schemas.queries import QuerySchema
from apiserver.schemas.request import C, error_details
from shared.v1alpha1.validation.problem import truncate

QUERY_FIELD_PREFIX: Final = "query"


class _EmptyQuerySchema(QuerySchema[None]):
    def build(self, data: dict[str, object]) -> None:
        """Return None."""


_EMPTY_QUERY: Final = _EmptyQuerySchema()


def read_query(request: web.Request, schema: QuerySchema[C]) -> C:
    """Read the query by its schema; raises InvalidRequestError, also for repeated parameters."""
    repeated = _repeated_parameters(request)
    try:
        query = schema.parse(dict(request.query))
    except ValidationError as error:
        raise _invalid_query_error(error_details(error, QUERY_FIELD_PREFIX) + repeated) from None
    if repeated:
        raise _invalid_query_error(repeated)
    return query


def require_no_query(request: web.Request) -> None:
    """Raise InvalidRequestError for any parameter: a misspelt filter must not be ignored."""
    if request.query_string:
        read_query(request, _EMPTY_QUERY)


def _repeated_parameters(request: web.Request) -> tuple[ErrorDetail, ...]:
    names = sorted(name for name in set(request.query) if len(request.query.getall(name)) > 1)
    return tuple(
        ErrorDetail(f"{QUERY_FIELD_PREFIX}.{truncate(name)}", "is given twice") for name in names
    )


def _invalid_query_error(details: tuple[ErrorDetail, ...]) -> InvalidRequestError:
    return InvalidRequestError("the query is invalid; see the details", details=details)
