"""Operations that release 0.1.0 (commit 0e22fbe) has begun: the present API finishes them.

The operations, and the objects that the dead process had created for them, are those of
tests/unit/golden. They are put into a real API server as they were written, and only their own text
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
# The number of writes after which the process of the release died.
LEFT: Final = [
    ("unit, only what is required", 1, "begun"),
    ("unit, only what is required", 2, "its stock is claimed"),
    ("unit, only what is required", 3, "its unit is made, and it is not closed"),
    ("unit, everything", 1, "begun"),
    ("unit, everything", 2, "one of its storages is locked"),
    ("unit, everything", 4, "its stock is claimed"),
    ("unit, everything", 5, "its unit is made, and it is not closed"),
    ("unit, defaults given", 1, "begun"),
    ("stock, several", 1, "begun"),
    ("stock, several", 3, "half of the stock is made"),
    ("stock, everything", 2, "its stock is made, and not listed"),
    ("pool, everything", 1, "begun"),
    ("pool, everything", 2, "its pool is made, and it is not closed"),
    ("storage, everything", 1, "begun"),
    ("storage, everything", 2, "its storage is made, and it is not closed"),
    ("function, everything", 1, "begun"),
    ("function, everything", 2, "its function is made, and it is not closed"),
]
# One request of each type; their names do not collide.
TOGETHER: Final = [name for name in REQUESTS if name.endswith(", everything")]


def configuration(site: IsolatedInstallation) -> dict[str, Any]:
    """Return the configuration of an API of the site."""
    return {**CONFIGURATION, "namespaces": namespace_settings(site)}


@asynccontextmanager
async def a_replica(site: IsolatedInstallation) -> AsyncIterator[KubeServices]:
    """Run the use cases of one process of the present API for the length of the block."""
    async with open_gateway(site.api_kubeconfig) as gateway, asyncio.TaskGroup() as group:
        where = service_settings(msgspec.convert(configuration(site), Config))
        parts = (CollectorRegistry(), SystemClock(), Random(7), lambda: uuid4().hex)
        made = KubeServices(gateway, where, *parts)
        shop = group.create_task(made.operation_tasks.run())
        yield made
        shop.cancel()


async def record_of(site: IsolatedInstallation, case: Case) -> dict[str, Any]:
    """Return the present operation of a request."""
    name = case.made["writes"][0]["at"].rpartition("/")[2]
    path = site.path("operations", name, namespace=site.namespaces.system)
    found: dict[str, Any] = await site.admin.get(path)
    return found


async def finished(site: IsolatedInstallation, case: Case) -> dict[str, Any]:
    """Wait until the operation is closed; return it."""
    return await eventually(
        lambda: record_of(site, case),
        lambda found: found.get("status", {}).get("phase") == OperationPhase.SUCCEEDED,
    )


async def made_by(site: IsolatedInstallation, case: Case) -> dict[str, Any]:
    """Return all objects that the operation of a request has created, by name, in any namespace."""
    plural = case.made["writes"][-2]["at"].partition(" ")[0]
    spaces = (site.namespaces.stock, site.namespaces.instance)
    found = [each for space in spaces for each in await site.list(plural, namespace=space)]
    operation_id = case.given["body"]["operationID"]
    return {
        each["metadata"]["name"]: each
        for each in found
        if each["metadata"].get("annotations", {}).get(OPERATION_ID_ANNOTATION) == operation_id
    }


def wanted(case: Case) -> dict[str, Any]:
    """Return the objects that the release would have created for a request, by name."""
    created = [each["body"] for each in case.made["writes"][1:] if each["verb"] == "create"]
    return {each["metadata"]["name"]: each for each in created}


def uids(made: Mapping[str, Any]) -> dict[str, str]:
    """Return the uids of objects, by name."""
    return {name: each["metadata"]["uid"] for name, each in made.items()}


def listed(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the uids of the objects that an operation lists, by name."""
    return {each["name"]: each["uid"] for each in record["status"]["objects"]}


def something_else(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return changed fields that make a body a different request."""
    others = {"size": "7Gi", "replicas": 7, "image": "example/other:1"}
    name = next(each for each in others if each in body)
    return {name: others[name]}


@pytest.mark.parametrize(
    ("name", "count"), [pytest.param(*each[:2], id=f"{each[0]}: {each[2]}") for each in LEFT]
)
async def test_a_record_is_resumed_and_makes_everything_once(
    installation: IsolatedInstallation, name: str, count: int
) -> None:
    case = REQUESTS[name]
    await GoldenInstallation(installation).write_before_crash(case, count)
    async with a_replica(installation) as replica:
        known = await replica.resumer.resume_unfinished(set())
        await replica.resumer.resume_unfinished(known)
        record = await finished(installation, case)

    made, asked_for = await made_by(installation, case), wanted(case)
    assert made.keys() == asked_for.keys()
    assert listed(record) == uids(made)
    assert [
        name for name in made if not contains_desired(made[name]["spec"], asked_for[name]["spec"])
    ] == []


async def test_a_replica_finishes_what_it_finds_and_answers_who_asks_again(
    installation: IsolatedInstallation, tmp_path: Path
) -> None:
    for name in TOGETHER:
        await GoldenInstallation(installation).write_before_crash(REQUESTS[name], 1)
    async with run_api(installation, tmp_path, specs=CONFIGURATION["specs"]) as api:
        caller = ApiClient(api.url)
        for name in TOGETHER:
            case = REQUESTS[name]
            known = listed(await finished(installation, case))
            path, body = (
                case.given["request"].partition(" ")[2],
                GoldenInstallation(installation).localized(case.given["body"]),
            )

            again = await caller.post(path, body)
            another = await caller.post(path, body | something_else(body))

            assert again.status == 200, again.body
            assert another.status_and_code == (409, "operation_conflict")
            assert uids(await made_by(installation, case)) == known
            if "uid" in again.data:
                assert [again.data["uid"]] == list(known.values())


async def test_a_resumed_unit_takes_the_place_of_its_stock(
    installation: IsolatedInstallation,
) -> None:
    case = REQUESTS["unit, only what is required"]
    await GoldenInstallation(installation).write_before_crash(case, 2)
    async with a_replica(installation) as replica:
        known = await replica.resumer.resume_unfinished(set())
        await replica.resumer.resume_unfinished(known)
        listing = listed(await finished(installation, case))
    async with run_controller(installation):
        await installation.wait_gone("gpuunits", "stock-a", namespace=installation.namespaces.stock)
        unit = await eventually(
            lambda: installation.get_unit("trainer"),
            lambda found: ADMITTED_ANNOTATION in found["metadata"]["annotations"],
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
        )
    made = uids(await made_by(installation, case))
    assert made == listing == {"trainer": unit["metadata"]["uid"]}
