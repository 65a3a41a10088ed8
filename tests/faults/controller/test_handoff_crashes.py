"""The controller dies at any write of a hand-off: the next one goes on where it was."""

import pytest

from tests.support.builders import api_steps
from tests.support.builders.api_steps import Order, an_order
from tests.support.cluster.full_cluster import fill, nobody_was_harmed, stock_units
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site
from tests.support.faults.crashing_rest_client import doomed
from tests.support.wait.first_of import first_of

ENOUGH_WRITES = 16

pytestmark = pytest.mark.timeout(900)  # a minute, but not on every machine


async def test_a_hand_off_survives_a_crash_at_every_write(site: Site) -> None:
    """One order for each write, before and after it took effect, on one full cluster."""
    async with controlled(site):
        stock = await fill(site, stock_units(), namespace=site.namespaces.stock)
    lines: list[str] = []
    for number, each in enumerate(stock):
        order = an_order(f"u{number}", each)
        dies_at, after_sending = number // 2 + 1, number % 2 == 1
        last_call = await handed_over_in_spite_of_a_crash(site, order, dies_at, after_sending)
        await nobody_was_harmed(site)
        if not last_call:
            break
        lines.append(last_call)

    assert len(lines) < len(stock), f"the hand-off did not end within {ENOUGH_WRITES} writes"
    assert any("/pods/" in line and "/status" in line for line in lines), lines
    assert any(line.startswith("DELETE") for line in lines), lines


async def handed_over_in_spite_of_a_crash(
    site: Site, order: Order, dies_at: int, after_sending: bool
) -> str:
    """The call at which the controller died; empty if the hand-off needed fewer."""
    async with doomed(site, dies_at=dies_at, after_sending=after_sending) as mortal:
        await api_steps.place(site, order)
        await first_of(site.unit_with(order.unit, "UnitReady"), mortal.died.wait())
    async with controlled(site):
        unit = await site.unit_with(order.unit, "UnitReady")
        await site.gone("gpuunits", order.stock_name, namespace=site.namespaces.stock)
    assert unit["status"]["nodeName"] == order.stock["status"]["nodeName"], mortal.last_call
    return mortal.last_call
