"""Strict reading of query parameters."""

from collections.abc import Collection

from aiohttp import web

from apiserver.errors import Detail, InvalidRequestError


def require_known(request: web.Request, known: Collection[str] = ()) -> None:
    """Refuse parameters that the route does not have: a misspelt filter must not pass for none."""
    unknown = sorted(set(request.query) - set(known))
    if unknown:
        details = tuple(Detail(f"query.{name}", "there is no such parameter") for name in unknown)
        raise InvalidRequestError("the query has unknown parameters", details=details)
