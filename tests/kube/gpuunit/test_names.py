"""Units whose names are long, or nearly the same, have children of their own."""

import asyncio
from typing import Any

import pytest

from hack.cluster.admin_client import RefusedError
from shared.v1alpha1 import names
from tests.support.builders.simulated_units import PORTS, a_users_unit, pods_of
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit

SAME = "a" * 58
LONG = [f"{SAME}{end}" for end in ("", "b", "bbbbb", "ccccc", "cccc")]
# The cut form of another's child must not be anybody's child either.
NASTY = [*LONG, names.unit_child(LONG[2]).removeprefix("unit-")]


async def test_long_and_similar_names_do_not_collide(site: Site) -> None:
    async with controlled(site):
        for name in NASTY:
            await site.create("gpuunits", a_users_unit(name, template=PORTS))
        units = await asyncio.gather(*(site.unit_with(name, "UnitReady") for name in NASTY))
        pods = [await pods_of(site, name) for name in NASTY]
        children = [
            await site.list(kind) for kind in ("deployments", "services", "networkpolicies")
        ]

    assert [len(each) for each in pods] == [1] * len(NASTY)
    for found in children:
        assert sorted(map(owner_of, found)) == sorted(NASTY)
    assert len({unit["status"]["accessURL"] for unit in units}) == len(NASTY)


def owner_of(child: dict[str, Any]) -> str:
    (owner,) = child["metadata"]["ownerReferences"]
    return str(owner["name"])


async def test_stock_with_the_longest_name_reserves_a_place(site: Site) -> None:
    stock, name = site.namespaces.stock, "s" * 63
    async with controlled(site):
        await site.create("gpuunits", a_unit(name), namespace=stock)
        await site.unit_with(name, "StockReady", namespace=stock)


@pytest.mark.parametrize("name", ["my.unit", "a" * 64, "Mine", "-mine", "mine_1"])
async def test_a_name_that_no_child_could_have_is_refused_with_its_reason(
    site: Site, name: str
) -> None:
    with pytest.raises(RefusedError, match=r"metadata\.name") as refusal:
        await site.create("gpuunits", a_users_unit(name))

    assert refusal.value.status == 422
