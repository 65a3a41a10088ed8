"""The default overlay as it is applied, and our programs with its settings, accounts and roles."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from apiserver.places import POOLS, STOCK, STORAGES, UNITS
from hack.cluster.controlplane import ControlPlane
from hack.local import ours
from hack.local.command import output_of
from hack.local.home import ROOT
from hack.local.identities import write_identity
from serverless.credentials.secret import USERS
from tests.support.caller import Caller
from tests.support.eventually import eventually
from tests.support.monitoring import asked_for, expressions, shown
from tests.support.overlays import applied, rendered, shipped_settings
from tests.support.products import Running, admin_kubectl, running

QUEUE_USERS = "/api/v1/namespaces/runtime-system/secrets/nats-users"
AWAITED = ("gpuruntime_function_", "gpuruntime_invocations_", "gpuruntime_dead_letters")
ADDRESSES = ("httpAddr", "probeAddr", "metricsAddr")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployed(
    installed: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, Running]]:
    """The shipped configuration, but for the way to the cluster and the ports."""
    objects = await rendered(installed, "default")
    home = tmp_path_factory.mktemp("deployed")
    async with applied(installed, "default"), AsyncExitStack() as processes:
        found = {}
        for program in ours.PROGRAMS:
            changes = settings(objects, installed, program)
            started = running(program, home / program.name, changes)
            found[program.name] = await processes.enter_async_context(started)
        yield found


def settings(
    objects: list[dict[str, Any]], plane: ControlPlane, program: ours.Program
) -> dict[str, Any]:
    shipped = shipped_settings(objects, program.name)
    kept = {key: value for key, value in shipped.items() if key not in (*ADDRESSES, "nats")}
    return {**kept, "kubeconfig": str(plane.layout.kubeconfig(program.name))}


async def refused(product: Running) -> list[str]:
    """The requests that Kubernetes has forbidden this program."""
    text = await Caller(product.url).text("/metrics")
    return re.findall(r'^rest_client_requests_total\{code="403".*$', text, re.MULTILINE)


async def test_nothing_of_the_story_is_forbidden(deployed: dict[str, Running]) -> None:
    api = Caller(deployed["runtime-api"].url)
    envelope = {"specName": "story", "memory": "64Mi", "gpu": 1}
    seed = {"operationID": "story-seed", "replicas": 2, **envelope}
    assert (await api.post(STOCK, seed)).status == 202
    pool = {"operationID": "story-pool", "name": "story", "replicas": 1, **envelope}
    assert (await api.post(POOLS, pool)).status == 201
    storage = {"operationID": "story-storage", "name": "story", "size": "1Gi"}
    made = await api.post(STORAGES, {**storage, "accessor": {"enabled": True}})
    assert made.status == 201, made.body
    await eventually(lambda: api.get(f"{STOCK}?phase=Ready"), lambda seen: len(seen.data) == 3)

    order = {
        "operationID": "story-unit",
        "name": "story",
        "specName": "story",
        "image": "example/app:1",
        "template": {"ports": [{"name": "web", "port": 8888}]},
        "storageMounts": [{"name": "story", "mountPath": "/data"}],
    }
    assert (await api.post(UNITS, order)).status == 201
    unit = await eventually(
        lambda: api.get(f"{UNITS}/story?wait=Ready"), lambda seen: seen.data["phase"] == "Ready"
    )
    assert unit.data["accessURL"].endswith(":8888")
    grown = await api.put(f"{STORAGES}/story", {"size": "2Gi", "accessor": {"enabled": False}})
    assert grown.status == 200, grown.body
    changed = await api.put(f"{UNITS}/story", {"image": "example/app:2"})
    assert changed.status == 200, changed.body
    await eventually(
        lambda: api.get(f"{STORAGES}/story"), lambda seen: seen.data.get("capacity") == "2Gi"
    )

    await everything_is_deleted(api)
    assert {name: await refused(product) for name, product in deployed.items()} == {
        "controller": [],
        "runtime-api": [],
    }


async def everything_is_deleted(api: Caller) -> None:
    """A storage can be deleted once the unit that held it is gone."""
    for place in (f"{UNITS}/story", f"{POOLS}/story", f"{STORAGES}/story"):
        await eventually(partial(api.delete, place), lambda seen: seen.status == 404)
    for stock in (await api.get(STOCK)).data:
        assert (await api.delete(f"{STOCK}/{stock['name']}")).status == 204
    await eventually(lambda: api.get(STOCK), lambda seen: seen.data == [])


async def test_the_queues_passwords_are_made_once(
    installed: ControlPlane, deployed: dict[str, Running], tmp_path: Path
) -> None:
    """By the job's own account, which finds the Secret empty, then full."""
    kubeconfig = await write_identity(admin_kubectl(installed), "credentials", tmp_path)
    program = (sys.executable, "-m", "serverless.credentials", "--kubeconfig", str(kubeconfig))
    assert "data" not in await installed.admin.get(QUEUE_USERS)
    await output_of(*program)
    first = (await installed.admin.get(QUEUE_USERS))["data"]
    await asyncio.gather(output_of(*program), output_of(*program))
    kubectl = admin_kubectl(installed)
    await kubectl.run("apply", "--server-side", "-k", str(ROOT / "manifests/credentials"))

    assert set(USERS) < set(first)
    assert (await installed.admin.get(QUEUE_USERS))["data"] == first


async def test_every_metric_that_dashboard_and_alerts_ask_for_is_there(
    deployed: dict[str, Running],
) -> None:
    api = Caller(deployed["runtime-api"].url)
    seed = {"operationID": "seen-seed", "replicas": 1, "specName": "seen", "memory": "64Mi"}
    assert (await api.post(STOCK, seed)).status == 202
    await eventually(lambda: api.get(f"{STOCK}?phase=Ready"), lambda seen: len(seen.data) == 1)
    pages = [await Caller(product.url).text("/metrics") for product in deployed.values()]
    there = {name: labels for page in pages for name, labels in shown(page).items()}
    asked = {each for expression in expressions() for each in asked_for(expression)}
    asked = {each for each in asked if not each.metric.startswith(AWAITED)}

    assert not {each.metric for each in asked} - set(there)
    unlabelled = {each for each in asked if not each.labels <= there[each.metric]}
    assert not unlabelled
