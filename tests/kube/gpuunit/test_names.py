"""Units with long or nearly equal names: each has its own children."""

import asyncio
from typing import Any

import pytest

from hack.cluster.admin_client import ApiStatusError
from shared.v1alpha1 import names
from tests.support.builders.simulated_units import PORTS, unit_pods, user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest

SAME = "a" * 58
LONG = [f"{SAME}{end}" for end in ("", "b", "bbbbb", "ccccc", "cccc")]
# The truncated form of another child's name must not be the name of any child either.
SIMILAR = [*LONG, names.unit_child_name(LONG[2]).removeprefix("unit-")]


async def test_long_and_similar_names_do_not_collide(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        for name in SIMILAR:
            await installation.create("gpuunits", user_unit_manifest(name, template=PORTS))
        units = await asyncio.gather(
            *(installation.wait_unit_reason(name, "UnitReady") for name in SIMILAR)
        )
        pods = [await unit_pods(installation, name) for name in SIMILAR]
        children = [
            await installation.list(kind) for kind in ("deployments", "services", "networkpolicies")
        ]

    assert [len(unit_pods_found) for unit_pods_found in pods] == [1] * len(SIMILAR)
    for objects in children:
        assert sorted(map(owner_of, objects)) == sorted(SIMILAR)
    assert len({unit["status"]["accessURL"] for unit in units}) == len(SIMILAR)


def owner_of(child: dict[str, Any]) -> str:
    (owner,) = child["metadata"]["ownerReferences"]
    return str(owner["name"])


async def test_stock_with_a_name_of_maximum_length_reserves_a_gpu(
    installation: IsolatedInstallation,
) -> None:
    stock, name = installation.namespaces.stock, "s" * 63
    async with run_controller(installation):
        await installation.create("gpuunits", unit_manifest(name), namespace=stock)
        await installation.wait_unit_reason(name, "StockReady", namespace=stock)


@pytest.mark.parametrize("name", ["my.unit", "a" * 64, "Mine", "-mine", "mine_1"])
async def test_a_unit_name_that_is_invalid_for_its_children_is_rejected(
    installation: IsolatedInstallation, name: str
) -> None:
    with pytest.raises(ApiStatusError, match=r"metadata\.name") as refusal:
        await installation.create("gpuunits", user_unit_manifest(name))

    assert refusal.value.status == 422
