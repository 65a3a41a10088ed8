"""The operations page in a real browser: live data, marked when it is old, from one host."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.http.paths import STOCK, UNITS
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.group import API_VERSION
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.product_processes import ProductProcess
from tests.support.cluster.running_product import run_api
from tests.support.faults.tcp_proxy import TCPProxy, kubeconfig_through_proxy
from tests.support.http.api_client import ApiClient
from tests.support.http.browser import CHROMIUM, SKIP_REASON, BrowserPage, open_browser
from tests.support.wait.eventually import eventually

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=SKIP_REASON)

HOSTILE = "<img src=x onerror=document.body.remove()>"
SEED = {"operationID": "seed", "specName": "web.1", "memory": "64Mi", "gpu": 1, "replicas": 3}
NARROW, WIDE = 400, 1600
STATUS = "document.querySelector('#link-word')?.textContent"


@pytest.fixture
async def kubernetes(installed_control_plane: ControlPlane) -> AsyncIterator[TCPProxy]:
    """Create the proxy between the API and Kubernetes."""
    async with TCPProxy(
        "127.0.0.1", installed_control_plane.layout.ports["kube-apiserver"]
    ).serve() as proxy:
        yield proxy


@pytest.fixture
async def api(
    installation: IsolatedInstallation, kubernetes: TCPProxy, tmp_path: Path
) -> AsyncIterator[ProductProcess]:
    path = kubeconfig_through_proxy(kubernetes, installation, tmp_path)
    async with (
        run_controller(installation),
        run_api(installation, tmp_path, kubeconfig=str(path)) as product,
    ):
        yield product


@pytest.fixture
async def network(api: ProductProcess) -> AsyncIterator[TCPProxy]:
    """Create the proxy between the browser and the API."""
    async with TCPProxy("127.0.0.1", int(api.url.rsplit(":", 1)[1])).serve() as proxy:
        yield proxy


@pytest.fixture
async def page(network: TCPProxy, tmp_path: Path) -> AsyncIterator[BrowserPage]:
    async with open_browser(tmp_path / "browser") as page:
        await page.open(f"http://127.0.0.1:{network.port}/ui")
        await page.wait_for(f"{STATUS} === 'Live'")
        yield page


def text(selector: str) -> str:
    """Return a JavaScript expression for the text of the selected element."""
    return f"document.querySelector('{selector}')?.innerText ?? ''"


def shows(selector: str, *words: str) -> str:
    """Return a JavaScript expression that tells whether the element shows all the words."""
    return " && ".join(f"({text(selector)}).includes({word!r})" for word in words)


def unit_body(name: str, **labels: str) -> dict[str, Any]:
    body = {"operationID": name, "name": name, "specName": "web.1", "image": "example/app:1"}
    return {**body, "labels": labels}


async def press(page: BrowserPage, key: str) -> None:
    text_field = {"text": key} if len(key) == 1 else {}
    for kind in ("keyDown", "keyUp"):
        await page.command("Input.dispatchKeyEvent", type=kind, key=key, **text_field)


async def wait_for_value(page: BrowserPage, script: str, value: object) -> None:
    """Wait until the script returns this value: the page draws input and clicks a moment later."""
    await eventually(lambda: page.evaluate(script), lambda result: result == value)


async def test_the_dashboard_shows_changes_of_the_cluster(
    api: ProductProcess,
    installation: IsolatedInstallation,
    page: BrowserPage,
    kubernetes: TCPProxy,
    network: TCPProxy,
    tmp_path: Path,
) -> None:
    await check_empty_sections(page)
    await check_new_objects(page, ApiClient(api.url), installation)
    await check_search(page)
    await check_widths_and_themes(page, tmp_path)
    await check_old_data(page, kubernetes)
    await check_lost_connection(page, network)
    other_hosts = [
        url
        for url in page.requested_urls
        if not url.startswith(f"http://127.0.0.1:{network.port}/")
    ]
    assert other_hosts == []
    assert page.errors == []


async def check_empty_sections(page: BrowserPage) -> None:
    for section, words in {
        "#units": "There are no units yet",
        "#stock": "There is no stock",
        "#operations": "No operation is running",
        "#functions": "There are no functions",
    }.items():
        assert await page.wait_for(shows(section, words))
    await page.wait_for(shows("#nodes", "gpu-0", "8 free"))


async def check_new_objects(
    page: BrowserPage, api: ApiClient, installation: IsolatedInstallation
) -> None:
    assert (await api.post(STOCK, SEED)).status == 202
    await page.wait_for(shows("#stock-specs", "web.1", "1 GPU each", "3 ready"))
    await page.wait_for(shows("#nodes", "in stock"))
    assert (await api.post(UNITS, unit_body("trainer"))).status == 201
    await page.wait_for(shows("#units-rows", "trainer", "Ready", "web.1 · 1 GPU"))
    broken = unit_body("broken", **{"sim.local/mode": "image-pull"})
    assert (await api.post(UNITS, broken)).status == 201
    await page.wait_for(
        shows("#units-rows tr:first-child", "broken", "Failed", "Pod startup failed")
    )
    await page.wait_for(shows("#operations-done", "3 succeeded"))
    await create_operation(installation)
    await page.wait_for(shows("#operations-rows", HOSTILE, "Seed stock units", "2 of 5"))
    await create_function(installation)
    await page.wait_for(shows("#functions-rows", "echo", "Degraded", "1 of 2", "12"))
    assert await page.evaluate("document.querySelectorAll('main img').length") == 0


async def create_operation(installation: IsolatedInstallation) -> None:
    path = installation.path("operations", namespace=installation.namespaces.system)
    spec = {"operationID": HOSTILE, "type": "SeedStockUnits", "requestHash": "1:x"}
    await installation.admin.create(path, new_object("Operation", "hostile", spec))
    status = {"phase": "Failed", "requested": 5, "created": 2, "message": HOSTILE}
    await installation.admin.patch(f"{path}/hostile/status", {"status": status})


async def create_function(installation: IsolatedInstallation) -> None:
    spec = {"specName": "web.1", "image": "example/app:1", "maxWorkers": 4}
    await installation.create("functions", new_object("Function", "echo", spec))
    status = {"phase": "Degraded", "desiredWorkers": 2, "readyWorkers": 1, "queued": 12}
    path = installation.path("functions", "echo")
    await installation.admin.patch(f"{path}/status", {"status": status})


def new_object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


async def check_search(page: BrowserPage) -> None:
    names = "[...document.querySelectorAll('#units-rows .name')].map(each => each.textContent)"
    await page.evaluate("document.querySelector('#units-states [data-state=Failed]').click()")
    await wait_for_value(page, names, ["broken"])
    await page.evaluate("document.querySelector('#units-states button').click()")
    await wait_for_value(page, names, ["broken", "trainer"])
    await press(page, "/")
    await wait_for_value(page, "document.activeElement.id", "units-search")
    await page.command("Input.insertText", text="TRAIN")
    await wait_for_value(page, names, ["trainer"])
    await press(page, "Escape")
    await wait_for_value(page, names, ["broken", "trainer"])
    ages = "[...document.querySelectorAll('#units-rows time')].map(each => each.textContent)"
    await eventually(lambda: page.evaluate(ages), all)
    await page.evaluate("document.querySelector('.tile[href=\"#nodes\"]').click()")
    await wait_for_value(page, "document.querySelector(':target')?.id", "nodes")


async def check_widths_and_themes(page: BrowserPage, folder: Path) -> None:
    """Require at every width and theme that the page has no overflow; save a picture of each."""
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for width in (NARROW, WIDE):
        for theme in ("light", "dark"):
            await page.command(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": theme}],
            )
            await page.command(
                "Emulation.setDeviceMetricsOverride",
                **{"width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": False},
            )
            await page.wait_for(f"innerWidth === {width}")
            await wait_for_value(page, overflow, 0)
            (folder / f"{width}-{theme}.png").write_bytes(await page.screenshot())


async def check_old_data(page: BrowserPage, kubernetes: TCPProxy) -> None:
    kubernetes.refuse()
    kubernetes.cut()
    await page.wait_for(f"{STATUS} === 'Old data'")
    await page.wait_for(shows("#notice", "data from Kubernetes cannot be refreshed", "is old"))
    assert await page.evaluate(shows("#units-rows", "trainer"))
    kubernetes.clear_faults()
    await page.wait_for(f"{STATUS} === 'Live' && document.querySelector('#notice').hidden")


async def check_lost_connection(page: BrowserPage, network: TCPProxy) -> None:
    network.refuse()
    network.cut()
    await page.wait_for(f"{STATUS} === 'Connection lost'")
    await page.wait_for(shows("#notice", "No connection to the runtime API", "Retry now"))
    assert await page.evaluate(shows("#units-rows", "trainer"))
    network.clear_faults()
    await page.evaluate("document.querySelector('#notice-retry').click()")
    await page.wait_for(f"{STATUS} === 'Live'")
