"""A watch of one kind may come back long after the others: units do not depend on the order."""

from typing import Any

from controller.kinds import REPLICA_SETS
from tests.support.eventually import eventually
from tests.support.lagging_controller import lagging
from tests.support.simulated_units import a_users_unit
from tests.support.site import LONGEST_WATCHLESS_SECONDS, Site, ready_of


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
