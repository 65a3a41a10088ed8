"""GPUUnits on a real API server: what they become, and what they say."""

from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit, ready_of


async def test_a_stock_unit_reserves_a_place(site: Site) -> None:
    stock = site.namespaces.stock
    async with controlled(site):
        await site.create("gpuunits", a_unit("warm"), namespace=stock)
        unit = await site.unit_with("warm", "StockReady", namespace=stock)
        pods = await site.list("pods", namespace=stock)

    assert unit["status"]["phase"] == "Ready"
    assert unit["status"]["nodeName"] == pods[0]["spec"]["nodeName"]
    assert "accessURL" not in unit["status"]


async def test_a_users_unit_runs_and_can_be_reached(site: Site) -> None:
    template = {"ports": [{"name": "http", "port": 8888}]}
    async with controlled(site):
        await site.create("gpuunits", a_unit("mine", image="example/image:1", template=template))
        unit = await site.unit_with("mine", "UnitReady")

    host = f"unit-mine.{site.namespaces.instance}.svc.cluster.local"
    assert unit["status"]["accessURL"] == f"http://{host}:8888"
    assert ready_of(unit)["status"] == "True"
