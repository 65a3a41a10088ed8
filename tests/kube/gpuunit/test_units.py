"""GPUUnits on a real API server: their children and their status."""

from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    ready_condition,
    unit_manifest,
)


async def test_a_stock_unit_reserves_a_gpu(installation: IsolatedInstallation) -> None:
    stock = installation.namespaces.stock
    async with run_controller(installation):
        await installation.create("gpuunits", unit_manifest("warm"), namespace=stock)
        unit = await installation.wait_unit_reason("warm", "StockReady", namespace=stock)
        pods = await installation.list("pods", namespace=stock)

    assert unit["status"]["phase"] == "Ready"
    assert unit["status"]["nodeName"] == pods[0]["spec"]["nodeName"]
    assert "accessURL" not in unit["status"]


async def test_a_users_unit_runs_and_can_be_reached(installation: IsolatedInstallation) -> None:
    template = {"ports": [{"name": "http", "port": 8888}]}
    async with run_controller(installation):
        await installation.create(
            "gpuunits", unit_manifest("mine", image="example/image:1", template=template)
        )
        unit = await installation.wait_unit_reason("mine", "UnitReady")

    host = f"unit-mine.{installation.namespaces.instance}.svc.cluster.local"
    assert unit["status"]["accessURL"] == f"http://{host}:8888"
    assert ready_condition(unit)["status"] == "True"
