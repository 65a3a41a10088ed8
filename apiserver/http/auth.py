"""Who may call which route: a bearer token, or at the page the password that a browser asks for."""

import base64
import binascii
from collections.abc import Callable
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from apiserver.errors import ForbiddenError, UnauthorizedError
from apiserver.http.access_log import UNMATCHED_ROUTE, route_template
from apiserver.http.roles import UI_PREFIX, Role, required_role
from apiserver.http.tokens import TokenSet

BEARER_CHALLENGE: Final = 'Bearer realm="GPU Runtime"'
# Browsers send a password by themselves, but only what reads is behind it: no site can misuse it.
BASIC_CHALLENGE: Final = 'Basic realm="GPU Runtime: a token as the password", charset="UTF-8"'


def auth_middleware(tokens: Callable[[], TokenSet]) -> Middleware:
    """Let only those through whose token is good for the route."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        route = route_template(request)
        needed = None if route == UNMATCHED_ROUTE else required_role(route)
        if needed is not None:
            is_page = route.startswith(UI_PREFIX)
            given = token_from_header(
                request.headers.get(hdrs.AUTHORIZATION, ""), accepts_password=is_page
            )
            require_role(
                tokens().roles_of(given), needed, BASIC_CHALLENGE if is_page else BEARER_CHALLENGE
            )
        return await handler(request)

    return middleware


def require_role(roles: frozenset[Role], required: Role, challenge: str) -> None:
    """Raise unless one of `roles` is what is needed."""
    if not roles:
        raise UnauthorizedError(challenge)
    if required not in roles:
        raise ForbiddenError(f"this needs a token of the role {required}")


def token_from_header(header: str, *, accepts_password: bool = False) -> str:
    """The token that an Authorization header holds; empty where it holds none."""
    scheme, _, rest = header.partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip()
        case "basic" if accepts_password:
            return _decode_basic_password(rest.strip())
        case _:
            return ""


def _decode_basic_password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
