"""Fixtures of the whole product; its processes are started once per test file."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hack.cluster.control_plane import ControlPlane
from tests.support.cluster.running_product import RunningProduct, new_running_product
from tests.support.http.api_client import ApiClient


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def product(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunningProduct]:
    """Run a controller and two replicas of the API, in their own namespaces."""
    async with new_running_product(
        installed_control_plane, tmp_path_factory.mktemp("product")
    ) as made:
        yield made


@pytest.fixture
def api(product: RunningProduct) -> ApiClient:
    """Return a client of one replica of the API."""
    return product.api
