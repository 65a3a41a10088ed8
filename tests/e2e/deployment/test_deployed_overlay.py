"""The default overlay as applied, and our programs with its settings, accounts and roles."""

import re
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from apiserver.http.paths import FUNCTIONS, INVOCATIONS, POOLS, STOCK, STORAGES, UNITS
from hack.cluster.atomic_files import write_private_atomic
from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from hack.local.account_kubeconfigs import write_account_kubeconfig
from hack.local.command import run_command
from hack.local.state_dir import ROOT
from serverless.credentials.secret import NATS_USERS
from serverless.worker.metrics import WorkerMetrics
from tests.support.checks.monitoring_manifests import (
    MetricSelector,
    all_expressions,
    metrics_in_expression,
    metrics_on_page,
)
from tests.support.cluster.overlays import apply_overlay, overlay_settings, render_overlay
from tests.support.cluster.product_processes import (
    ProductProcess,
    admin_kubectl,
    run_product_process,
)
from tests.support.http.api_client import ApiClient
from tests.support.queue.overlay_nats import run_overlay_nats
from tests.support.wait.eventually import eventually

QUEUE_USERS = "/api/v1/namespaces/runtime-system/secrets/nats-users"
FOLDER, QUEUE, API = "/etc/nats-users", "nats://nats:4222", "http://runtime-api:8080"
ADDRESSES = ("httpAddr", "probeAddr", "metricsAddr")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployed(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, ProductProcess]]:
    """Run the shipped settings; only the API server address, folders and ports differ."""
    objects = await render_overlay(installed_control_plane, "default")
    state_dir = tmp_path_factory.mktemp("deployed")
    async with apply_overlay(installed_control_plane, "default"), AsyncExitStack() as stack:
        secret = await new_passwords(installed_control_plane, state_dir)
        servers = await stack.enter_async_context(
            run_overlay_nats(objects, secret, state_dir / "queue")
        )
        changes = {FOLDER: str(state_dir / "users"), QUEUE: servers[0][0].url}
        running: dict[str, ProductProcess] = {}
        for program in product_processes.PRODUCT_PROGRAMS:
            shipped = local_settings(overlay_settings(objects, program.name), changes)
            kubeconfig = str(installed_control_plane.layout.kubeconfig(program.name))
            started = run_product_process(
                program, state_dir / program.name, {**shipped, "kubeconfig": kubeconfig}
            )
            running[program.name] = await stack.enter_async_context(started)
            changes[API] = running.get("runtime-api", running["controller"]).url
        yield running


async def new_passwords(plane: ControlPlane, state_dir: Path) -> dict[str, str]:
    """Return the Secret that the Job fills.

    The Job runs with its own account, first on an empty Secret, then on a full one.
    """
    kubeconfig = await write_account_kubeconfig(admin_kubectl(plane), "credentials", state_dir)
    program = (sys.executable, "-m", "serverless.credentials", "--kubeconfig", str(kubeconfig))
    assert "data" not in await plane.admin.get(QUEUE_USERS)
    await run_command(*program)
    secret: dict[str, str] = (await plane.admin.get(QUEUE_USERS))["data"]
    await run_command(*program)
    for key, value in secret.items():
        write_private_atomic(state_dir / "users" / key, b64decode(value).decode())
    return secret


def local_settings(shipped: dict[str, Any], changes: dict[str, str]) -> dict[str, Any]:
    """Return the settings for this machine without the ports, which each process gets itself."""
    text = yaml.safe_dump({key: value for key, value in shipped.items() if key not in ADDRESSES})
    for deployed_value, local_value in changes.items():
        text = text.replace(deployed_value, local_value)
    settings: dict[str, Any] = yaml.safe_load(text)
    return settings


async def forbidden_requests(product: ProductProcess) -> list[str]:
    """Return the requests that Kubernetes has forbidden this program."""
    text = await ApiClient(product.url).text("/metrics")
    return re.findall(r'^rest_client_requests_total\{code="403".*$', text, re.MULTILINE)


async def test_the_shipped_roles_allow_all_documented_requests(
    deployed: dict[str, ProductProcess],
) -> None:
    api = ApiClient(deployed["runtime-api"].url)
    envelope = {"specName": "story", "memory": "64Mi", "gpu": 1}
    seed = {"operationID": "story-seed", "replicas": 2, **envelope}
    assert (await api.post(STOCK, seed)).status == 202
    pool = {"operationID": "story-pool", "name": "story", "replicas": 1, **envelope}
    assert (await api.post(POOLS, pool)).status == 201
    storage = {"operationID": "story-storage", "name": "story", "size": "1Gi"}
    response = await api.post(STORAGES, {**storage, "accessor": {"enabled": True}})
    assert response.status == 201, response.body
    await eventually(
        lambda: api.get(f"{STOCK}?phase=Ready"), lambda response: len(response.data) == 3
    )

    unit_body = {
        "operationID": "story-unit",
        "name": "story",
        "specName": "story",
        "image": "example/app:1",
        "template": {"ports": [{"name": "web", "port": 8888}]},
        "storageMounts": [{"name": "story", "mountPath": "/data"}],
    }
    assert (await api.post(UNITS, unit_body)).status == 201
    unit = await eventually(
        lambda: api.get(f"{UNITS}/story?wait=Ready"),
        lambda response: response.data["phase"] == "Ready",
    )
    assert unit.data["accessURL"].endswith(":8888")
    grown = await api.put(f"{STORAGES}/story", {"size": "2Gi", "accessor": {"enabled": False}})
    assert grown.status == 200, grown.body
    changed = await api.put(f"{UNITS}/story", {"image": "example/app:2"})
    assert changed.status == 200, changed.body
    await eventually(
        lambda: api.get(f"{STORAGES}/story"),
        lambda response: response.data.get("capacity") == "2Gi",
    )

    await delete_all_objects(api)
    assert {name: await forbidden_requests(product) for name, product in deployed.items()} == {
        "activator": [],
        "controller": [],
        "runtime-api": [],
    }


async def delete_all_objects(api: ApiClient) -> None:
    """Delete all objects: a storage only after the unit that holds it, a pool with its stock."""
    for path in (f"{UNITS}/story", f"{POOLS}/story", f"{STORAGES}/story"):
        await eventually(partial(api.delete, path), lambda response: response.status == 404)
    for stock in (await api.get(STOCK)).data:
        path = f"{STOCK}/{stock['name']}"
        await eventually(partial(api.delete, path), lambda response: response.status == 404)
    await eventually(lambda: api.get(STOCK), lambda response: response.data == [])


async def test_applying_the_manifests_again_keeps_the_passwords_of_the_queue(
    installed_control_plane: ControlPlane, deployed: dict[str, ProductProcess]
) -> None:
    before = (await installed_control_plane.admin.get(QUEUE_USERS))["data"]
    folder = str(ROOT / "manifests/credentials")
    await admin_kubectl(installed_control_plane).run("apply", "--server-side", "-k", folder)

    assert set(NATS_USERS) < set(before)
    assert (await installed_control_plane.admin.get(QUEUE_USERS))["data"] == before


async def test_the_processes_connect_to_the_queue_with_the_shipped_users(
    deployed: dict[str, ProductProcess],
) -> None:
    api = ApiClient(deployed["runtime-api"].url)
    await eventually(
        lambda: api.get("/api/v1/health"), lambda response: response.data["queueConnected"]
    )
    activator = ApiClient(deployed["activator"].url)
    await eventually(lambda: activator.get("/readyz"), lambda response: response.status == 200)


async def test_every_metric_of_the_dashboard_and_the_alerts_is_exported(
    deployed: dict[str, ProductProcess],
) -> None:
    """Run with stock and a function that has work; the workers' own metrics are in users' pods."""
    api = ApiClient(deployed["runtime-api"].url)
    seed = {"operationID": "seen-seed", "replicas": 1, "specName": "seen", "memory": "64Mi"}
    assert (await api.post(STOCK, seed)).status == 202
    await eventually(
        lambda: api.get(f"{STOCK}?phase=Ready"), lambda response: len(response.data) == 1
    )
    function = {"operationID": "seen-function", "name": "seen", "specName": "none"}
    assert (await api.post(FUNCTIONS, {**function, "image": "example/echo:1"})).status == 201
    assert (await api.post(INVOCATIONS, {"serverlessRequestID": "seen"})).status == 202
    selectors = {
        selector
        for expression in all_expressions()
        for selector in metrics_in_expression(expression)
    }

    async def missing() -> set[MetricSelector]:
        exported = await exported_metrics(deployed)
        known = {selector for selector in selectors if selector.metric in exported}
        return selectors - {item for item in known if item.labels <= exported[item.metric]}

    await eventually(missing, lambda selectors: not selectors)

    path = f"{FUNCTIONS}/seen?purge=true"
    await eventually(partial(api.delete, path), lambda response: response.status == 404)
    await api.delete(f"{STOCK}/{(await api.get(STOCK)).data[0]['name']}")


async def exported_metrics(deployed: dict[str, ProductProcess]) -> dict[str, set[str]]:
    pages = [await ApiClient(product.url).text("/metrics") for product in deployed.values()]
    worker = CollectorRegistry()
    WorkerMetrics(worker, "seen")
    pages.append(generate_latest(worker).decode())
    return {name: labels for page in pages for name, labels in metrics_on_page(page).items()}
