"""A control plane with our resource definitions and API processes, and no controller on it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp
import psutil

from hack.cluster.admin_client import ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.local.product_processes import RUNTIME_API
from tests.bench.connection import Connection, open_connection
from tests.bench.control_plane import run_bare_control_plane
from tests.bench.controller.unit_load import CREATOR_COUNT, UNITS_PATH
from tests.support.cluster import product_processes
from tests.support.wait.eventually import eventually

BARE_CONNECTIONS = 64


@dataclass(frozen=True)
class ApiProcess:
    """One process of the API, and connections to it."""

    session: aiohttp.ClientSession
    process: psutil.Process


@dataclass(frozen=True)
class ApiBenchCluster:
    """The control plane, as its administrator sees it and as the API does without our code."""

    control_plane: ControlPlane
    admin_connection: Connection
    api_account_connection: Connection


@asynccontextmanager
async def run_api_bench_cluster() -> AsyncIterator[ApiBenchCluster]:
    """Only the API server and etcd: whatever else took the CPU would be measured too."""
    async with AsyncExitStack() as parts:
        plane = await parts.enter_async_context(run_bare_control_plane())
        await product_processes.install_product(plane)
        token = (plane.layout.state_dir / "secrets" / f"token-{RUNTIME_API.name}").read_text()
        admin = await parts.enter_async_context(open_connection(plane, CREATOR_COUNT))
        bare = await parts.enter_async_context(open_connection(plane, BARE_CONNECTIONS, token))
        await eventually(lambda: bare.get(UNITS_PATH), tolerate=ApiStatusError)
        yield ApiBenchCluster(plane, admin, bare)


@asynccontextmanager
async def run_api(plane: ControlPlane, replica_number: int = 0) -> AsyncIterator[ApiProcess]:
    """One replica of the API as it is shipped."""
    home = plane.layout.state_dir
    changes = {"kubeconfig": str(home / "kubeconfigs" / RUNTIME_API.name)}
    async with (
        product_processes.run_product_process(
            RUNTIME_API, home / f"replica-{replica_number}", changes
        ) as product,
        aiohttp.ClientSession(product.url, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        yield ApiProcess(session, psutil.Process(product.process.pid))
