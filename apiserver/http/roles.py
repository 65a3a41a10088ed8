"""Whom each route is for, where callers are asked who they are."""

from enum import StrEnum
from typing import Final

from apiserver.http import paths


class Role(StrEnum):
    """What a token is good for; a caller may have tokens, or one token, of both."""

    OPERATOR = "operator"
    TENANT_CONTROL_PLANE = "tenant-control-plane"


# What probes, Prometheus and readers of the document need before anybody has given them a token.
OPEN_ROUTES: Final = frozenset({"/healthz", "/readyz", "/metrics", "/api/v1/health"})
UI_PREFIX: Final = "/ui"

_OPEN_PREFIX: Final = "/swagger"


def required_role(route: str) -> Role | None:
    """The role that a route asks for, None for everybody; a route not named here is guarded."""
    if route in OPEN_ROUTES or route.startswith(_OPEN_PREFIX):
        return None
    is_operators = route.startswith((paths.OPERATOR_PREFIX, UI_PREFIX))
    return Role.OPERATOR if is_operators else Role.TENANT_CONTROL_PLANE
