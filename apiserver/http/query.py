"""Strict reading of query parameters."""

from typing import Final

from aiohttp import web
from marshmallow import ValidationError

from apiserver.errors import Detail, InvalidRequestError
from apiserver.schemas.queries import QuerySchema
from apiserver.schemas.request import C, details_of
from shared.v1alpha1.validation.problem import cut

PREFIX: Final = "query"


class _NoQuerySchema(QuerySchema[None]):
    def make(self, data: dict[str, object]) -> None:
        """There is nothing to make."""


_NO_QUERY: Final = _NoQuerySchema()


def read_query(request: web.Request, schema: QuerySchema[C]) -> C:
    """What the parameters ask for; unknown ones and repeated ones are refused."""
    found = _repeated(request)
    try:
        made = schema.read(dict(request.query))
    except ValidationError as error:
        raise _refused(details_of(error, PREFIX) + found) from None
    if found:
        raise _refused(found)
    return made


def require_known(request: web.Request) -> None:
    """Refuse every parameter: a misspelt filter must not pass for none."""
    if request.query_string:
        read_query(request, _NO_QUERY)


def _repeated(request: web.Request) -> tuple[Detail, ...]:
    names = sorted(name for name in set(request.query) if len(request.query.getall(name)) > 1)
    return tuple(Detail(f"{PREFIX}.{cut(name)}", "is given twice") for name in names)


def _refused(details: tuple[Detail, ...]) -> InvalidRequestError:
    return InvalidRequestError("the query cannot be used; see the details", details=details)
