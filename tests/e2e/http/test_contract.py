"""The API against its OpenAPI document: every response conforms, for any request."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.functions import examples as functions_examples
from apiserver.http import paths as http_paths
from apiserver.http.tokens import Role
from apiserver.invocations import examples as invocations_examples
from apiserver.units import examples as units_examples
from tests.support.builders.quotas import create_effective_quota
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.product_processes import ProductProcess
from tests.support.cluster.running_product import run_api
from tests.support.http.api_client import ApiClient
from tests.support.http.get import get
from tests.support.queue.invocation_api import nats_settings, wait_queue_connected
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

SEED = 20261116
EXAMPLES = 25
TOKEN = "token-for-both-roles"  # noqa: S105 - of no other API
UNLOGGED = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics")}
INVOCATION = "/api/v1/serverless/invocations/{requestID}/{invocationID}"
# Only a storage whose prepare has failed can be recovered, and no storage is prepared here; the
# functions have no workers, so that no invocation has a result.
UNTESTED = {
    ("POST", "/api/v1/gpu-storages/{name}/recover"),
    ("GET", f"{INVOCATION}/body"),
    ("POST", f"{INVOCATION}/redrive"),
}
# The document cannot express all rules of Kubernetes, so a request that the document allows may be
# refused. A unit may be far from ready, and this test does not wait for units.
# Swagger 2.0 defines media types per operation, not per response, so it cannot say that 204 has
# none.
SETTINGS = """
[checks]
positive_data_acceptance.enabled = false

[[operations]]
include-method = "DELETE"
checks.content_type_conformance.enabled = false

[[operations]]
include-name = "GET /api/v1/gpu-units/{name}"
parameters = { "timeoutSeconds" = 1 }

[[operations]]
include-name = "GET /api/v1/serverless/invocations/{requestID}/{invocationID}"
parameters = { "wait" = 1 }

[[operations]]
include-name = "POST /api/v1/serverless/functions/{requestID}/invoke"
parameters = { "waitSeconds" = 1 }
"""

pytestmark = pytest.mark.timeout(900)  # a minute, but longer on a slow machine


@pytest.fixture
async def api(installation: IsolatedInstallation, tmp_path: Path) -> AsyncIterator[ProductProcess]:
    """Run an API that requires tokens and permits only a limited amount of seeded stock."""
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{role} {TOKEN}\n" for role in Role))
    await create_effective_quota(installation.admin, installation.namespaces.stock, max_units=40)
    async with (
        new_nats_server(tmp_path / "queue") as queue,
        run_controller(installation),
        run_api(
            installation,
            tmp_path,
            maxSeedReplicas=4,
            nats=nats_settings(queue),
            auth={"tokensFile": str(tokens)},
        ) as product,
    ):
        await seed_stock(product)
        await create_invocation(product)
        yield product


async def seed_stock(product: ProductProcess) -> None:
    """Seed stock of the spec that the examples name.

    A unit can then be created even if stock units become ready slowly.
    """
    caller, spec = ApiClient(product.url, token=TOKEN), units_examples.CREATE["specName"]
    seed = {"operationID": "contract", "specName": spec, "replicas": 2, "memory": "64Mi"}
    assert (await caller.post(http_paths.STOCK, seed)).status == 202
    ready = f"{http_paths.STOCK}?specName={spec}&phase=Ready"
    await eventually(lambda: caller.get(ready), lambda response: len(response.data) == 2)


async def create_invocation(product: ProductProcess) -> None:
    """Create the function that the examples of the document name, with an invocation to cancel."""
    caller = ApiClient(product.url, token=TOKEN)
    await wait_queue_connected(caller)
    assert (await caller.post(http_paths.FUNCTIONS, functions_examples.CREATE)).status == 201
    assert (await caller.post(http_paths.INVOCATIONS, invocations_examples.INVOKE)).status == 202


async def run_schemathesis(url: str, folder: Path) -> tuple[int, str]:
    """Send requests that the document allows and others; return the exit code and the report.

    Each route is also called once without a valid token, to check that the token is required.
    """
    command = (
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(folder / "st.toml")),
        *("run", f"{url}/swagger/doc.json", "--no-color", "--seed", str(SEED)),
        *("--max-examples", str(EXAMPLES), "--phases", "examples,coverage,fuzzing"),
        *("--mode", "all", "--continue-on-failure"),
        *("--header", f"Authorization: Bearer {TOKEN}"),
        *("--request-timeout", "35", "--suppress-health-check", "all"),
    )
    (folder / "st.toml").write_text(SETTINGS)
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        report, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, report.decode()


async def test_every_response_matches_the_openapi_document(
    api: ProductProcess, tmp_path: Path
) -> None:
    code, report = await run_schemathesis(api.url, tmp_path)
    print(report)  # noqa: T201 - shown with its seed when the test fails
    assert code == 0
    log = api.process.log_path.read_text()
    assert "level=error" not in log
    _, document = await get(f"{api.url}/swagger/doc.json")
    assert successes(log) >= operations(document) - UNLOGGED - UNTESTED


def successes(log: str) -> set[tuple[str, str]]:
    """Return method and route of every successful request in the log."""
    return set(re.findall(r"event=http_request .*method=(\w+) route=(\S+) .*status=2", log))


def operations(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Return method and route of every documented operation."""
    paths = document["paths"].items()
    return {(method.upper(), path) for path, methods in paths for method in methods}
