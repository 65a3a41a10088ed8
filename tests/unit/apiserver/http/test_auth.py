"""Tests of the role that each route requires, and of requests with and without its token."""

import base64
from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry

from apiserver.http.auth import OPEN_ROUTES, required_role
from apiserver.http.tokens import Role, TokenSet
from apiserver.routes import create_routes
from tests.unit.apiserver.in_process_api import InProcessApi, run_app

OPERATORS, TENANTS, UNKNOWN = "token-of-operators", "token-of-tenants", "an-unknown-token"
STOCK, UNITS = "/api/v1/operator/stock-units", "/api/v1/gpu-units"
AUTHORIZED = 503  # the routes here have no services


@pytest.fixture(name="api")
async def _api() -> AsyncIterator[InProcessApi]:
    tokens = TokenSet.parse(f"operator {OPERATORS}\ntenant-control-plane {TENANTS}")
    async with run_app(tokens=lambda: tokens) as api:
        yield api


def password(token: str, user: str = "me") -> str:
    return "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        (STOCK, f"Bearer {OPERATORS}", AUTHORIZED),
        (STOCK, f"bearer  {OPERATORS}", AUTHORIZED),
        (STOCK, f"Bearer {TENANTS}", 403),
        (UNITS, f"Bearer {TENANTS}", AUTHORIZED),
        (UNITS, f"Bearer {OPERATORS}", 403),
        (UNITS, f"Bearer {UNKNOWN}", 401),
        (UNITS, TENANTS, 401),
        (UNITS, "Bearer", 401),
        (UNITS, "", 401),
        # a browser would send this header for any site that requests it
        (UNITS, password(TENANTS), 401),
        ("/ui/events", password(OPERATORS), AUTHORIZED),
        ("/ui/events", f"Bearer {OPERATORS}", AUTHORIZED),
        ("/ui/events", password(TENANTS), 403),
        ("/ui/events", "Basic !", 401),
        ("/ui", password(UNKNOWN), 401),
        ("/api/v1/health", "", 200),
        ("/api/v1/nothing", "", 404),
    ],
)
async def test_a_token_opens_the_routes_of_its_role(
    api: InProcessApi, path: str, header: str, status: int
) -> None:
    assert (await api.get(path, Authorization=header)).status == status


@pytest.mark.parametrize(("path", "scheme"), [(UNITS, "Bearer"), ("/ui", "Basic")])
async def test_an_unauthenticated_request_gets_a_www_authenticate_header(
    api: InProcessApi, path: str, scheme: str
) -> None:
    response = await api.get(path)
    assert (response.status, response.error_code) == (401, "unauthorized")
    assert response.headers["WWW-Authenticate"].startswith(f"{scheme} realm=")


async def test_the_error_for_a_token_of_another_role_names_the_required_role(
    api: InProcessApi,
) -> None:
    response = await api.post(STOCK, {}, Authorization=f"Bearer {TENANTS}")
    assert response.error_code == "forbidden"
    assert response.json["error"]["message"] == "a token with the role operator is required"


def test_each_route_needs_one_role_or_none() -> None:
    paths = {route.path for route in create_routes(CollectorRegistry())}
    by_role = {
        role: {path for path in paths if required_role(path) is role} for role in (*Role, None)
    }
    assert {path for path in by_role[None] if not path.startswith("/swagger")} == OPEN_ROUTES
    operators = ("/api/v1/operator/", "/ui")
    assert by_role[Role.OPERATOR] == {path for path in paths if path.startswith(operators)}
    tenants = ("/api/v1/gpu-", "/api/v1/serverless/")
    assert by_role[Role.TENANT_CONTROL_PLANE] == {
        path for path in paths if path.startswith(tenants)
    }
