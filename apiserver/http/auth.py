"""Authentication and authorisation of requests: by bearer token, for pages also by password."""

import base64
import binascii
from collections.abc import Callable
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from apiserver.errors import ForbiddenError, UnauthorizedError
from apiserver.http import paths
from apiserver.http.access_log import UNMATCHED_ROUTE, route_template
from apiserver.http.tokens import Role, TokenSet

# Probes, Prometheus and readers of the API document call these without a token.
OPEN_ROUTES: Final = frozenset({"/healthz", "/readyz", "/metrics", "/api/v1/health"})
UI_PREFIX: Final = "/ui"
_OPEN_PREFIX: Final = "/swagger"

BEARER_CHALLENGE: Final = 'Bearer realm="GPU Runtime"'
# Browsers send a password unprompted, but it only admits to read-only pages: no site can misuse it.
BASIC_CHALLENGE: Final = 'Basic realm="GPU Runtime: a token as the password", charset="UTF-8"'


def auth_middleware(tokens: Callable[[], TokenSet]) -> Middleware:
    """Reject requests whose token does not have the role that the route requires."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        route = route_template(request)
        required = None if route == UNMATCHED_ROUTE else required_role(route)
        if required is not None:
            is_page = route.startswith(UI_PREFIX)
            header = request.headers.get(hdrs.AUTHORIZATION, "")
            token = token_from_header(header, accepts_password=is_page)
            challenge = BASIC_CHALLENGE if is_page else BEARER_CHALLENGE
            require_role(tokens().roles_of(token), required, challenge)
        return await handler(request)

    return middleware


def required_role(route: str) -> Role | None:
    """Return the role that a route requires; None for the open routes and no other."""
    if route in OPEN_ROUTES or route.startswith(_OPEN_PREFIX):
        return None
    is_operators = route.startswith((paths.OPERATOR_PREFIX, UI_PREFIX))
    return Role.OPERATOR if is_operators else Role.TENANT_CONTROL_PLANE


def require_role(roles: frozenset[Role], required: Role, challenge: str) -> None:
    """Raise UnauthorizedError without any role, ForbiddenError without the required one."""
    if not roles:
        raise UnauthorizedError(challenge)
    if required not in roles:
        raise ForbiddenError(f"a token with the role {required} is required")


def token_from_header(header: str, *, accepts_password: bool = False) -> str:
    """Return the token in an Authorization header; empty if there is none."""
    scheme, _, credentials = header.partition(" ")
    match scheme.lower():
        case "bearer":
            return credentials.strip()
        case "basic" if accepts_password:
            return _decode_basic_password(credentials.strip())
        case _:
            return ""


def _decode_basic_password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
