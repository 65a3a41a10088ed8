"""A control plane with our resource definitions and API processes, and without a controller."""

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
    """The control plane, with connections as administrator and as the API's account."""

    control_plane: ControlPlane
    admin_connection: Connection
    api_account_connection: Connection


@asynccontextmanager
async def run_api_bench_cluster() -> AsyncIterator[ApiBenchCluster]:
    """Run only the API server and etcd: other processes would be measured too."""
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(run_bare_control_plane())
        await product_processes.install_product(plane)
        token = (plane.layout.state_dir / "secrets" / f"token-{RUNTIME_API.name}").read_text()
        admin = await stack.enter_async_context(open_connection(plane, CREATOR_COUNT))
        bare = await stack.enter_async_context(open_connection(plane, BARE_CONNECTIONS, token))
        await eventually(lambda: bare.get(UNITS_PATH), tolerate=ApiStatusError)
        yield ApiBenchCluster(plane, admin, bare)


@asynccontextmanager
async def run_api(plane: ControlPlane, replica_number: int = 0) -> AsyncIterator[ApiProcess]:
    """Run one replica of the API as it is shipped."""
    state_dir = plane.layout.state_dir
    changes = {"kubeconfig": str(state_dir / "kubeconfigs" / RUNTIME_API.name)}
    async with (
        product_processes.run_product_process(
            RUNTIME_API, state_dir / f"replica-{replica_number}", changes
        ) as product,
        aiohttp.ClientSession(product.url, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        yield ApiProcess(session, psutil.Process(product.process.pid))
