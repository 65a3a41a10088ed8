"""The Swagger page in a real browser: every operation works, and no other host is requested."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.product_processes import ProductProcess
from tests.support.cluster.running_product import run_api
from tests.support.http.api_client import ApiClient
from tests.support.http.browser import CHROMIUM, SKIP_REASON, BrowserPage, open_browser
from tests.support.http.get import get
from tests.support.queue.invocation_api import nats_settings, wait_queue_connected
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason=SKIP_REASON),
    pytest.mark.timeout(900),  # half a minute, but longer on a slow machine
]

UNITS, STORAGES = "/api/v1/gpu-units", "/api/v1/gpu-storages"
OPERATOR = "/api/v1/operator"
STOCK, POOLS, JOBS = f"{OPERATOR}/stock-units", f"{OPERATOR}/stock-pools", f"{OPERATOR}/jobs"
FUNCTIONS, INVOCATIONS = "/api/v1/serverless/functions", "/api/v1/serverless/invocations"
INVOCATION = f"{INVOCATIONS}/{{requestID}}/{{invocationID}}"
# The statuses of all operations when a reader tries them one after the other, with the forms as the
# page fills them in.
WRITES = [
    *(("POST", path, "201") for path in (POOLS, UNITS, STORAGES, FUNCTIONS)),
    ("POST", INVOCATIONS, "202"),
    ("POST", f"{FUNCTIONS}/{{requestID}}/invoke", "202"),
]
READS = [
    *(("GET", path, "200") for path in ("/healthz", "/readyz", "/metrics", "/api/v1/health")),
    *(("GET", path, "200") for path in (STOCK, POOLS, f"{POOLS}/{{name}}", f"{OPERATOR}/specs")),
    *(("GET", path, "200") for path in (JOBS, f"{JOBS}/{{operationID}}")),
    *(("GET", path, "200") for path in (UNITS, f"{UNITS}/{{name}}")),
    *(("GET", path, "200") for path in (STORAGES, f"{STORAGES}/{{name}}")),
    *(("GET", path, "200") for path in (FUNCTIONS, f"{FUNCTIONS}/{{name}}")),
    *(
        ("GET", path, "200")
        for path in (INVOCATIONS, INVOCATION, "/api/v1/serverless/dead-letters")
    ),
    ("GET", f"{INVOCATION}/body", "404"),  # there are no workers, so there is no result
]
CHANGES = [
    ("PUT", f"{POOLS}/{{name}}", "200"),
    ("PUT", f"{UNITS}/{{name}}", "200"),
    ("PUT", f"{STORAGES}/{{name}}", "200"),
    ("POST", f"{STORAGES}/{{name}}/recover", "409"),
    ("DELETE", f"{STORAGES}/{{name}}", "204"),
    ("DELETE", f"{POOLS}/{{name}}", "204"),
    ("DELETE", f"{UNITS}/{{name}}", "204"),
    ("DELETE", f"{STOCK}/{{name}}", "404"),
    ("PUT", f"{FUNCTIONS}/{{name}}", "200"),
    ("DELETE", INVOCATION, "200"),
    ("POST", f"{INVOCATION}/redrive", "202"),
    ("DELETE", f"{FUNCTIONS}/{{name}}", "409"),  # work is queued
]
BLOCKS = """[...document.querySelectorAll('.opblock')].map(block => [
    block.querySelector('.opblock-summary-method').textContent,
    block.querySelector('.opblock-summary-path').dataset.path,
])"""

BLOCK_INDEX = f"{BLOCKS}.findIndex(([method, path]) => method === {{method}} && path === {{path}})"


@pytest.fixture
async def api(installation: IsolatedInstallation, tmp_path: Path) -> AsyncIterator[ProductProcess]:
    async with (
        run_controller(installation),
        new_nats_server(tmp_path / "queue") as queue,
        run_api(installation, tmp_path, nats=nats_settings(queue)) as product,
    ):
        await wait_queue_connected(ApiClient(product.url))
        yield product


@pytest.fixture
async def page(api: ProductProcess, tmp_path: Path) -> AsyncIterator[BrowserPage]:
    async with open_browser(tmp_path / "browser") as page:
        await page.open(f"{api.url}/swagger?url=http://elsewhere.example/doc.json")
        await page.wait_for("document.querySelectorAll('.opblock').length")
        yield page


async def try_out(page: BrowserPage, method: str, path: str, folder: Path) -> str:
    """Click as a reader would; save a picture and return the status that the page shows."""
    index = BLOCK_INDEX.format(method=json.dumps(method), path=json.dumps(path))
    block = f"document.querySelectorAll('.opblock')[{await page.evaluate(index)}]"
    toggle = f"{block}.querySelector('.opblock-summary-control').click()"
    await page.evaluate(toggle)
    for button in (".try-out__btn", ".execute"):
        await page.wait_for(f"{block}.querySelector('{button}') !== null")
        await page.evaluate(f"{block}.querySelector('{button}').click()")
    status = f"{block}.querySelector('.live-responses-table .response .response-col_status')"
    shown = await page.wait_for(f"{status}?.textContent.trim()")
    await page.evaluate(f"{block}.scrollIntoView()")
    (folder / f"{method}{path.replace('/', '-')}.png").write_bytes(await page.screenshot())
    await page.evaluate(toggle)
    return str(shown)


async def stock_is_ready(api: ProductProcess) -> bool:
    _, body = await get(f"{api.url}{STOCK}?phase=Ready")
    return len(body["data"]) > 0


async def test_every_operation_can_be_tried_out_in_swagger_without_another_host(
    api: ProductProcess, page: BrowserPage, tmp_path: Path
) -> None:
    _, document = await get(f"{api.url}/swagger/doc.json")
    await eventually(
        lambda: page.evaluate(BLOCKS), lambda shown: sorted(shown) == sorted(operations(document))
    )
    folder = tmp_path / "pictures"
    folder.mkdir()
    shown = [("POST", STOCK, await try_out(page, "POST", STOCK, folder))]
    await eventually(lambda: stock_is_ready(api))
    for method, path, _ in WRITES + READS + CHANGES:
        shown.append((method, path, await try_out(page, method, path, folder)))
    assert shown == [("POST", STOCK, "202"), *WRITES, *READS, *CHANGES]
    assert sorted([method, path] for method, path, _ in shown) == sorted(operations(document))
    assert [
        url for url in page.requested_urls if not url.startswith((f"{api.url}/", "data:"))
    ] == []
    assert page.errors == []


def operations(document: dict[str, Any]) -> list[list[str]]:
    paths = document["paths"].items()
    return [[method.upper(), path] for path, methods in paths for method in methods]
