"""Invocations at the highest rate, compared with a program that only publishes them."""

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import aiohttp
import psutil

from apiserver.http.paths import FUNCTIONS, INVOCATIONS
from hack.cluster.nats_server import NATSServer
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.local.product_processes import RUNTIME_API
from tests.bench.api.api_cluster import ApiBenchCluster, run_api_bench_cluster
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds
from tests.runner.ports import new_port
from tests.support.cluster import product_processes
from tests.support.http.api_client import ApiClient
from tests.support.queue.invocation_api import nats_settings, wait_queue_connected
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

CALLER_COUNT = 128
INVOCATION_COUNT = 3_840
ROUNDS = 9
FUNCTION_REQUEST = {"operationID": "bench", "name": "bench", "specName": "any", "image": "any"}
PAYLOAD = {"prompt": "x" * 400, "temperature": 0.7, "tags": ["a", "b"]}


async def measure_ingest() -> list[Measure]:
    """Measure both sides in turns on one queue; return the median round of each."""
    async with run_api_bench_cluster() as cluster:
        state_dir = cluster.control_plane.layout.state_dir
        async with (
            new_nats_server(state_dir / "queue") as server,
            run_api_with_function(cluster, server) as (ours, process),
            run_direct_publisher(server, state_dir / "bare") as bare,
        ):
            numbers = itertools.count()
            await measure_rate(ours, INVOCATIONS, numbers, CALLER_COUNT * 4)
            await measure_rate(bare, "/", numbers, CALLER_COUNT * 4)
            before, rates = used_cpu_seconds(process), dict[str, list[float]](ours=[], bare=[])
            for _ in range(ROUNDS):
                rates["bare"].append(await measure_rate(bare, "/", numbers, INVOCATION_COUNT))
                rates["ours"].append(
                    await measure_rate(ours, INVOCATIONS, numbers, INVOCATION_COUNT)
                )
            spent = (used_cpu_seconds(process) - before) / (ROUNDS * INVOCATION_COUNT)
            return rows(
                median(rates["ours"]), median(rates["bare"]), spent, resident_mebibytes(process)
            )


@asynccontextmanager
async def run_api_with_function(
    cluster: ApiBenchCluster, server: NATSServer
) -> AsyncIterator[tuple[aiohttp.ClientSession, psutil.Process]]:
    """Run one replica of the API as it is shipped, with a function that accepts everything."""
    state_dir = cluster.control_plane.layout.state_dir
    kubeconfig = str(state_dir / "kubeconfigs" / RUNTIME_API.name)
    changes = {"kubeconfig": kubeconfig, "nats": nats_settings(server)}
    async with (
        product_processes.run_product_process(RUNTIME_API, state_dir / "api", changes) as product,
        aiohttp.ClientSession(product.url, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        client = ApiClient(product.url)
        await wait_queue_connected(client)
        response = await client.post(FUNCTIONS, {**FUNCTION_REQUEST, "maxQueued": 1_000_000})
        assert response.status == 201, response.body
        yield session, psutil.Process(product.process.pid)


@asynccontextmanager
async def run_direct_publisher(
    server: NATSServer, state_dir: Path
) -> AsyncIterator[aiohttp.ClientSession]:
    """Run the program that the API is compared with."""
    port = new_port()
    arguments = (
        sys.executable,
        "-m",
        "tests.bench.api.direct_publisher",
        server.admin_url,
        str(port),
    )
    process = Process(Command("bare-ingest", arguments), state_dir)
    process.start()
    try:
        url, connector = f"http://{HOST}:{port}", aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(url, connector=connector) as session:
            await eventually(
                lambda: post_invocation(session, "/", -1), tolerate=aiohttp.ClientError
            )
            yield session
    finally:
        await process.stop()


async def measure_rate(
    session: aiohttp.ClientSession,
    path: str,
    invocation_numbers: "itertools.count[int]",
    count: int,
) -> float:
    """Return the invocations a second of callers that each wait for their response."""

    async def caller() -> None:
        for _ in range(count // CALLER_COUNT):
            await post_invocation(session, path, next(invocation_numbers))

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CALLER_COUNT):
            group.create_task(caller())
    return count / (time.perf_counter() - began)


async def post_invocation(session: aiohttp.ClientSession, path: str, number: int) -> bool:
    body = {"serverlessRequestID": "bench", "invocationID": f"i{number}", "payload": PAYLOAD}
    async with session.post(path, json=body) as response:
        response.raise_for_status()
        await response.read()
    return True


def rows(
    api_rate: float, direct_rate: float, cpu_per_invocation: float, rss: float
) -> list[Measure]:
    title = "invocations accepted a second against a bare parse and publish"
    return [
        new_measure(title, api_rate, direct_rate, ">= 0.5x", "/s"),
        new_measure("CPU of the API for an invocation", cpu_per_invocation, None),
        new_measure("RSS of the API after invocations", rss, None, "", "MiB"),
    ]
