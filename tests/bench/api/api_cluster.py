"""A control plane with our resource definitions and API processes, and no controller on it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp
import psutil

from hack.cluster.admin_client import RefusedError
from hack.cluster.control_plane import ControlPlane
from hack.local.product_processes import RUNTIME_API
from tests.bench.connection import Connection, connected
from tests.bench.control_plane import running_plane
from tests.bench.controller.unit_load import UNITS, WORKERS
from tests.support.cluster import product_processes
from tests.support.wait.eventually import eventually

BARE_CONNECTIONS = 64


@dataclass(frozen=True)
class Api:
    """One process of the API, and connections to it."""

    session: aiohttp.ClientSession
    process: psutil.Process


@dataclass(frozen=True)
class ApiPlane:
    """The control plane, as its administrator sees it and as the API does without our code."""

    plane: ControlPlane
    admin: Connection
    bare: Connection


@asynccontextmanager
async def api_plane() -> AsyncIterator[ApiPlane]:
    """Only the API server and etcd: whatever else took the CPU would be measured too."""
    async with AsyncExitStack() as parts:
        plane = await parts.enter_async_context(running_plane())
        await product_processes.install(plane)
        token = (plane.layout.home / "secrets" / f"token-{RUNTIME_API.name}").read_text()
        admin = await parts.enter_async_context(connected(plane, WORKERS))
        bare = await parts.enter_async_context(connected(plane, BARE_CONNECTIONS, token))
        await eventually(lambda: bare.get(UNITS), tolerate=RefusedError)
        yield ApiPlane(plane, admin, bare)


@asynccontextmanager
async def running_api(plane: ControlPlane, number: int = 0) -> AsyncIterator[Api]:
    """One replica of the API as it is shipped."""
    home = plane.layout.home
    changes = {"kubeconfig": str(home / "kubeconfigs" / RUNTIME_API.name)}
    async with (
        product_processes.running(RUNTIME_API, home / f"replica-{number}", changes) as product,
        aiohttp.ClientSession(product.url, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        yield Api(session, psutil.Process(product.process.pid))
