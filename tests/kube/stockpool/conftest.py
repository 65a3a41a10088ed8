"""Fixtures of the stock pool tests: a pool to change, and the controller that maintains it."""

from collections.abc import AsyncIterator

import pytest

from controller.runtime.client.client import Client
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import connect_client
from tests.support.builders.stock_pool import StockPoolFixture
from tests.support.cluster.stock_pool_controller import InProcessStockPoolController


@pytest.fixture
async def client(installed_control_plane: ControlPlane) -> AsyncIterator[Client]:
    """Create a client of the controller library with all rights."""
    async with connect_client(installed_control_plane.layout.admin_kubeconfig) as client:
        yield client


@pytest.fixture
def stock(client: Client, namespace: str) -> StockPoolFixture:
    """Return a fixture for the pool `warm` of the test's namespace.

    It creates nothing by itself.
    """
    return StockPoolFixture(client, namespace)


@pytest.fixture
def controller(client: Client, namespace: str) -> InProcessStockPoolController:
    """Return a stock pool controller that a test starts and stops."""
    return InProcessStockPoolController(client, namespace)
