"""Lagging caches: the watch of one kind returns long after the others.

Units do not depend on the order of the watches.
"""

from typing import Any

import pytest

from controller.kinds import GPU_UNITS, NETWORK_POLICIES, REPLICA_SETS, SERVICES
from controller.runtime.client.kind import Kind
from shared.config.duration import Duration
from tests.support.builders import api_steps
from tests.support.builders.api_steps import new_create_with_stock
from tests.support.builders.simulated_units import PORTS, user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    MAX_WATCH_GAP_SECONDS,
    IsolatedInstallation,
    ready_condition,
)
from tests.support.faults.lagging_watch import run_lagging_controller
from tests.support.wait.eventually import eventually


async def test_a_unit_becomes_ready_although_the_replicaset_cache_lags(
    installation: IsolatedInstallation,
) -> None:
    async with run_lagging_controller(installation, REPLICA_SETS) as controller:
        await installation.create("gpuunits", user_unit_manifest("mine"))
        await runs(installation, "mine")
        # When the pod of another unit runs, the controller has processed the events of the first
        # units.
        await installation.create("gpuunits", user_unit_manifest("another"))
        await runs(installation, "another")
        before = await installation.get_unit("mine")
        controller.catch_up()
        await installation.wait_unit_reason("mine", "UnitReady")

    assert ready_condition(before)["reason"] == "UnitProgressing"


async def runs(site: IsolatedInstallation, name: str) -> None:
    """Wait until the unit's Deployment reports that its pod runs."""

    async def deployments() -> list[dict[str, Any]]:
        return [
            deployment
            for deployment in await site.list("deployments")
            if deployment["metadata"]["name"] == f"unit-{name}"
            and deployment.get("status", {}).get("availableReplicas") == 1
        ]

    await eventually(deployments, timeout_seconds=MAX_WATCH_GAP_SECONDS)


async def test_the_operation_of_a_unit_is_kept_while_the_unit_cache_lags(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
    async with run_lagging_controller(
        installation, GPU_UNITS, operation_retention=Duration(0.001)
    ) as controller:
        await api_steps.wait_operation_sweep(installation, order)
        unit = await api_steps.create_unit(installation, order)
        reference = {
            "kind": "GPUUnit",
            "namespace": installation.namespaces.instance,
            "name": order.unit_name,
        }
        objects = [{**reference, "uid": unit["metadata"]["uid"]}]
        await api_steps.write_operation_status(
            installation, order, {"phase": "Succeeded", "objects": objects}
        )
        await api_steps.wait_operation_sweep(installation, order)
        controller.catch_up()
        started = await installation.wait_unit_reason(order.unit_name, "UnitReady")

    assert started["metadata"]["uid"] == unit["metadata"]["uid"]


FOREIGN: dict[str, dict[str, Any]] = {
    "services": {
        "metadata": {"name": "unit-mine"},
        "spec": {"selector": {"app": "other"}, "ports": [{"port": 1}]},
    },
    "networkpolicies": {
        "metadata": {"name": "egress-mine"},
        "spec": {"podSelector": {"matchLabels": {"app": "other"}}},
    },
}


@pytest.mark.parametrize(
    ("kind", "plural"), [(SERVICES, "services"), (NETWORK_POLICIES, "networkpolicies")]
)
async def test_a_foreign_child_object_is_not_changed_while_the_cache_lags(
    installation: IsolatedInstallation, kind: Kind[Any], plural: str
) -> None:
    async with run_lagging_controller(installation, kind) as controller:
        await installation.create("gpuunits", user_unit_manifest("first"))
        await installation.wait_unit_reason("first", "UnitReady")
        foreign = await installation.create(plural, FOREIGN[plural])
        await installation.create("gpuunits", user_unit_manifest("mine", template=PORTS))
        await installation.create("gpuunits", user_unit_manifest("last"))
        await installation.wait_unit_reason("last", "UnitReady")
        controller.catch_up()
        await installation.wait_unit_reason("mine", "ChildConflict")
        after = await installation.admin.get(installation.path(plural, foreign["metadata"]["name"]))

    assert after["spec"] == foreign["spec"]
    assert "ownerReferences" not in after["metadata"]
