"""Who may call which route: a bearer token, or at the page the password that a browser asks for."""

import base64
import binascii
from collections.abc import Callable
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from apiserver.errors import ForbiddenError, UnauthorizedError
from apiserver.http.access_log import UNMATCHED, route_of
from apiserver.http.roles import PAGE, Role, role_for
from apiserver.http.tokens import Tokens

BEARER: Final = 'Bearer realm="GPU Runtime"'
# Browsers send a password by themselves, but only what reads is behind it: no site can misuse it.
BASIC: Final = 'Basic realm="GPU Runtime: a token as the password", charset="UTF-8"'


def authorisation(tokens: Callable[[], Tokens]) -> Middleware:
    """Let only those through whose token is good for the route."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        route = route_of(request)
        needed = None if route == UNMATCHED else role_for(route)
        if needed is not None:
            is_page = route.startswith(PAGE)
            given = token_of(request.headers.get(hdrs.AUTHORIZATION, ""), takes_password=is_page)
            require(tokens().roles(given), needed, BASIC if is_page else BEARER)
        return await handler(request)

    return middleware


def require(roles: frozenset[Role], needed: Role, challenge: str) -> None:
    """Raise unless one of `roles` is what is needed."""
    if not roles:
        raise UnauthorizedError(challenge)
    if needed not in roles:
        raise ForbiddenError(f"this needs a token of the role {needed}")


def token_of(header: str, *, takes_password: bool = False) -> str:
    """The token that an Authorization header holds; empty where it holds none."""
    scheme, _, rest = header.partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip()
        case "basic" if takes_password:
            return _password(rest.strip())
        case _:
            return ""


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
