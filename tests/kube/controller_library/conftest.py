"""Fixtures of the controller library's tests."""

from collections.abc import AsyncIterator

import pytest

from controller.runtime.client.client import Client
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import connect_client


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    """Create a client with all rights."""
    async with connect_client(control_plane.layout.admin_kubeconfig) as client:
        yield client
