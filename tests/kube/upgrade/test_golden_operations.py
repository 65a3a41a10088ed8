"""Operations that release 0.1.0 (commit 0e22fbe) has begun: the current API finishes them.

The operations, and the objects that the crashed process had created for them, are those of
tests/unit/golden. They are put into a real API server as they were stored, and only their content
says what was requested.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from apiserver.clock import SystemClock
from apiserver.config import Config
from apiserver.main import service_settings
from apiserver.wiring import KubeServices
from controller.runtime.subset import contains_desired
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.wellknown import ADMITTED_ANNOTATION, OPERATION_ID_ANNOTATION
from tests.support.cluster.golden_installation import GoldenInstallation
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import MAX_WATCH_GAP_SECONDS, IsolatedInstallation
from tests.support.cluster.kube_gateway import open_gateway
from tests.support.cluster.running_product import namespace_settings, run_api
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually
from tests.unit.golden.data import Case, cases_by_name
from tests.unit.golden.recorded_api import CONFIGURATION

REQUESTS: Final = cases_by_name("operations", "requests")
# The number of writes after which the process of the release crashed.
INTERRUPTED: Final = [
    ("unit, only what is required", 1, "begun"),
    ("unit, only what is required", 2, "its stock is claimed"),
    ("unit, only what is required", 3, "its unit is created, and it is not finished"),
    ("unit, everything", 1, "begun"),
    ("unit, everything", 2, "one of its storages is locked"),
    ("unit, everything", 4, "its stock is claimed"),
    ("unit, everything", 5, "its unit is created, and it is not finished"),
    ("unit, defaults given", 1, "begun"),
    ("stock, several", 1, "begun"),
    ("stock, several", 3, "half of the stock is created"),
    ("stock, everything", 2, "its stock is created, and not listed"),
    ("pool, everything", 1, "begun"),
    ("pool, everything", 2, "its pool is created, and it is not finished"),
    ("storage, everything", 1, "begun"),
    ("storage, everything", 2, "its storage is created, and it is not finished"),
    ("function, everything", 1, "begun"),
    ("function, everything", 2, "its function is created, and it is not finished"),
]
# One request of each type; their names do not collide.
TOGETHER: Final = [name for name in REQUESTS if name.endswith(", everything")]


def configuration(site: IsolatedInstallation) -> dict[str, Any]:
    """Return the configuration of an API of the site."""
    return {**CONFIGURATION, "namespaces": namespace_settings(site)}


@asynccontextmanager
async def run_replica(site: IsolatedInstallation) -> AsyncIterator[KubeServices]:
    """Run the services of one process of the current API during the block."""
    async with open_gateway(site.api_kubeconfig) as gateway, asyncio.TaskGroup() as group:
        settings = service_settings(msgspec.convert(configuration(site), Config))
        dependencies = (CollectorRegistry(), SystemClock(), Random(7), lambda: uuid4().hex)
        services = KubeServices(gateway, settings, *dependencies)
        tasks = group.create_task(services.operation_tasks.run())
        yield services
        tasks.cancel()


async def get_operation(site: IsolatedInstallation, case: Case) -> dict[str, Any]:
    """Return the current operation of a request."""
    name = case.made["writes"][0]["at"].rpartition("/")[2]
    path = site.path("operations", name, namespace=site.namespaces.system)
    operation: dict[str, Any] = await site.admin.get(path)
    return operation


async def wait_finished(site: IsolatedInstallation, case: Case) -> dict[str, Any]:
    """Wait until the operation is finished; return it."""
    return await eventually(
        lambda: get_operation(site, case),
        lambda found: found.get("status", {}).get("phase") == OperationPhase.SUCCEEDED,
    )


async def created_by(site: IsolatedInstallation, case: Case) -> dict[str, Any]:
    """Return all objects that the operation of a request has created, by name, in any namespace."""
    plural = case.made["writes"][-2]["at"].partition(" ")[0]
    spaces = (site.namespaces.stock, site.namespaces.instance)
    objects = [item for space in spaces for item in await site.list(plural, namespace=space)]
    operation_id = case.given["body"]["operationID"]
    return {
        item["metadata"]["name"]: item
        for item in objects
        if item["metadata"].get("annotations", {}).get(OPERATION_ID_ANNOTATION) == operation_id
    }


def expected_objects(case: Case) -> dict[str, Any]:
    """Return the objects that the release would have created for a request, by name."""
    writes = case.made["writes"][1:]
    created = [write["body"] for write in writes if write["verb"] == "create"]
    return {item["metadata"]["name"]: item for item in created}


def uids(objects: Mapping[str, Any]) -> dict[str, str]:
    """Return the uids of objects, by name."""
    return {name: item["metadata"]["uid"] for name, item in objects.items()}


def listed(operation: Mapping[str, Any]) -> dict[str, str]:
    """Return the uids of the objects that an operation lists, by name."""
    return {item["name"]: item["uid"] for item in operation["status"]["objects"]}


def different_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return changed fields that make a body a different request."""
    others = {"size": "7Gi", "replicas": 7, "image": "example/other:1"}
    name = next(name for name in others if name in body)
    return {name: others[name]}


@pytest.mark.parametrize(
    ("name", "count"),
    [pytest.param(*entry[:2], id=f"{entry[0]}: {entry[2]}") for entry in INTERRUPTED],
)
async def test_a_stored_operation_is_resumed_and_creates_every_object_once(
    installation: IsolatedInstallation, name: str, count: int
) -> None:
    case = REQUESTS[name]
    await GoldenInstallation(installation).write_before_crash(case, count)
    async with run_replica(installation) as replica:
        known = await replica.resumer.resume_unfinished(set())
        await replica.resumer.resume_unfinished(known)
        operation = await wait_finished(installation, case)

    created, expected = await created_by(installation, case), expected_objects(case)
    assert created.keys() == expected.keys()
    assert listed(operation) == uids(created)
    assert [
        name
        for name in created
        if not contains_desired(created[name]["spec"], expected[name]["spec"])
    ] == []


async def test_a_replica_resumes_stored_operations_and_replays_repeated_requests(
    installation: IsolatedInstallation, tmp_path: Path
) -> None:
    for name in TOGETHER:
        await GoldenInstallation(installation).write_before_crash(REQUESTS[name], 1)
    async with run_api(installation, tmp_path, specs=CONFIGURATION["specs"]) as api:
        caller = ApiClient(api.url)
        for name in TOGETHER:
            case = REQUESTS[name]
            known = listed(await wait_finished(installation, case))
            path, body = (
                case.given["request"].partition(" ")[2],
                GoldenInstallation(installation).localized(case.given["body"]),
            )

            repeated = await caller.post(path, body)
            changed = await caller.post(path, body | different_fields(body))

            assert repeated.status == 200, repeated.body
            assert changed.status_and_code == (409, "operation_conflict")
            assert uids(await created_by(installation, case)) == known
            if "uid" in repeated.data:
                assert [repeated.data["uid"]] == list(known.values())


async def test_a_resumed_unit_consumes_its_stock_unit(
    installation: IsolatedInstallation,
) -> None:
    case = REQUESTS["unit, only what is required"]
    await GoldenInstallation(installation).write_before_crash(case, 2)
    async with run_replica(installation) as replica:
        known = await replica.resumer.resume_unfinished(set())
        await replica.resumer.resume_unfinished(known)
        listing = listed(await wait_finished(installation, case))
    async with run_controller(installation):
        await installation.wait_gone("gpuunits", "stock-a", namespace=installation.namespaces.stock)
        unit = await eventually(
            lambda: installation.get_unit("trainer"),
            lambda found: ADMITTED_ANNOTATION in found["metadata"]["annotations"],
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
        )
    created = uids(await created_by(installation, case))
    assert created == listing == {"trainer": unit["metadata"]["uid"]}
