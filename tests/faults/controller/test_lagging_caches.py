"""A watch of one kind may come back long after the others: units do not depend on the order."""

from typing import Any

import pytest

from controller.kinds import GPU_UNITS, NETWORK_POLICIES, REPLICA_SETS, SERVICES
from controller.runtime.client.kind import Kind
from shared.config.duration import Duration
from tests.support.builders import api_steps
from tests.support.builders.api_steps import one_order
from tests.support.builders.simulated_units import PORTS, a_users_unit
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import LONGEST_WATCHLESS_SECONDS, Site, ready_of
from tests.support.faults.lagging_controller import lagging
from tests.support.wait.eventually import eventually


async def test_a_unit_whose_revision_is_heard_of_last_is_ready_all_the_same(site: Site) -> None:
    async with lagging(site, REPLICA_SETS) as controller:
        await site.create("gpuunits", a_users_unit("mine"))
        await runs(site, "mine")
        # By the time that the pod of another one runs, the news of the first have been worked on.
        await site.create("gpuunits", a_users_unit("another"))
        await runs(site, "another")
        before = await site.unit("mine")
        controller.catch_up()
        await site.unit_with("mine", "UnitReady")

    assert ready_of(before)["reason"] == "UnitProgressing"


async def runs(site: Site, name: str) -> None:
    """Wait until the unit's Deployment says that its pod does."""

    async def deployments() -> list[dict[str, Any]]:
        return [
            found
            for found in await site.list("deployments")
            if found["metadata"]["name"] == f"unit-{name}"
            and found.get("status", {}).get("availableReplicas") == 1
        ]

    await eventually(deployments, seconds=LONGEST_WATCHLESS_SECONDS)


async def test_the_record_of_a_unit_that_was_not_heard_of_yet_is_kept_for_it(site: Site) -> None:
    async with controlled(site):
        order = await one_order(site)
    async with lagging(site, GPU_UNITS, operation_retention=Duration(0.001)) as controller:
        await api_steps.sweep_comes_by(site, order)
        unit = await api_steps.place(site, order)
        made = {"kind": "GPUUnit", "namespace": site.namespaces.instance, "name": order.unit}
        objects = [{**made, "uid": unit["metadata"]["uid"]}]
        await api_steps.close(site, order, {"phase": "Succeeded", "objects": objects})
        await api_steps.sweep_comes_by(site, order)
        controller.catch_up()
        started = await site.unit_with(order.unit, "UnitReady")

    assert started["metadata"]["uid"] == unit["metadata"]["uid"]


THEIRS: dict[str, dict[str, Any]] = {
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
async def test_a_child_of_somebody_else_that_was_not_heard_of_yet_is_left_alone(
    site: Site, kind: Kind[Any], plural: str
) -> None:
    async with lagging(site, kind) as controller:
        await site.create("gpuunits", a_users_unit("first"))
        await site.unit_with("first", "UnitReady")
        theirs = await site.create(plural, THEIRS[plural])
        await site.create("gpuunits", a_users_unit("mine", template=PORTS))
        await site.create("gpuunits", a_users_unit("last"))
        await site.unit_with("last", "UnitReady")
        controller.catch_up()
        await site.unit_with("mine", "ChildConflict")
        left = await site.admin.get(site.path(plural, theirs["metadata"]["name"]))

    assert left["spec"] == theirs["spec"]
    assert "ownerReferences" not in left["metadata"]
