"""Crashes of the controller at any write of a hand-off: the next one continues where it stopped."""

import pytest

from tests.support.builders import api_steps
from tests.support.builders.api_steps import CreateUnitSteps, new_create
from tests.support.builders.full_cluster import (
    assert_no_eviction,
    fill_cluster,
    stock_unit_manifests,
)
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.faults.crashing_rest_client import run_crashing_controller
from tests.support.wait.first_of import wait_for_first

MAX_WRITES = 16

pytestmark = pytest.mark.timeout(900)  # a minute, but longer on a slow machine


async def test_a_hand_off_survives_a_crash_at_every_write(
    installation: IsolatedInstallation,
) -> None:
    """Create one unit for each write on one full cluster.

    The controller crashes before or after that write took effect.
    """
    async with run_controller(installation):
        stock = await fill_cluster(
            installation, stock_unit_manifests(), namespace=installation.namespaces.stock
        )
    lines: list[str] = []
    for number, stock_unit in enumerate(stock):
        order = new_create(f"u{number}", stock_unit)
        crash_at_write, after_sending = number // 2 + 1, number % 2 == 1
        last_call = await hand_over_with_crash(installation, order, crash_at_write, after_sending)
        await assert_no_eviction(installation)
        if not last_call:
            break
        lines.append(last_call)

    assert len(lines) < len(stock), f"the hand-off did not end within {MAX_WRITES} writes"
    assert any("/pods/" in line and "/status" in line for line in lines), lines
    assert any(line.startswith("DELETE") for line in lines), lines


async def hand_over_with_crash(
    site: IsolatedInstallation, order: CreateUnitSteps, crash_at_write: int, after_sending: bool
) -> str:
    """Return the call at which the controller died; empty if the hand-off needed fewer calls."""
    async with run_crashing_controller(
        site, crash_at_write=crash_at_write, after_sending=after_sending
    ) as client:
        await api_steps.create_unit(site, order)
        await wait_for_first(
            site.wait_unit_reason(order.unit_name, "UnitReady"), client.crashed.wait()
        )
    async with run_controller(site):
        unit = await site.wait_unit_reason(order.unit_name, "UnitReady")
        await site.wait_gone("gpuunits", order.stock_name, namespace=site.namespaces.stock)
    assert unit["status"]["nodeName"] == order.stock["status"]["nodeName"], client.fatal_call
    return client.fatal_call
