"""Invocations as fast as they are accepted, beside a program that only publishes them."""

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
from hack.cluster.nats_server import QueueServer
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.local.product_processes import RUNTIME_API
from tests.bench.api.api_cluster import ApiPlane, api_plane
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident
from tests.runner.ports import new_port
from tests.support.cluster import product_processes
from tests.support.http.api_client import Caller
from tests.support.queue.invocation_api import nats_settings, queue_connected
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually

CALLERS = 128
COUNT = 3_840
ROUNDS = 9
FUNCTION = {"operationID": "bench", "name": "bench", "specName": "any", "image": "any"}
PAYLOAD = {"prompt": "x" * 400, "temperature": 0.7, "tags": ["a", "b"]}


async def ingest_measures() -> list[Measure]:
    """In turns on one queue, and of each side the median of its rounds."""
    async with api_plane() as cluster:
        home = cluster.plane.layout.home
        async with (
            new_queue(home / "queue") as server,
            our_api(cluster, server) as (ours, process),
            bare_program(server, home / "bare") as bare,
        ):
            numbers = itertools.count()
            await rate(ours, INVOCATIONS, numbers, CALLERS * 4)
            await rate(bare, "/", numbers, CALLERS * 4)
            before, rates = cpu(process), dict[str, list[float]](ours=[], bare=[])
            for _ in range(ROUNDS):
                rates["bare"].append(await rate(bare, "/", numbers, COUNT))
                rates["ours"].append(await rate(ours, INVOCATIONS, numbers, COUNT))
            spent = (cpu(process) - before) / (ROUNDS * COUNT)
            return rows(median(rates["ours"]), median(rates["bare"]), spent, resident(process))


@asynccontextmanager
async def our_api(
    cluster: ApiPlane, server: QueueServer
) -> AsyncIterator[tuple[aiohttp.ClientSession, psutil.Process]]:
    """One replica of the API as it is shipped, with a function that takes everything."""
    home = cluster.plane.layout.home
    kubeconfig = str(home / "kubeconfigs" / RUNTIME_API.name)
    changes = {"kubeconfig": kubeconfig, "nats": nats_settings(server)}
    async with (
        product_processes.running(RUNTIME_API, home / "api", changes) as product,
        aiohttp.ClientSession(product.url, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        caller = Caller(product.url)
        await queue_connected(caller)
        answer = await caller.post(FUNCTIONS, {**FUNCTION, "maxQueued": 1_000_000})
        assert answer.status == 201, answer.body
        yield session, psutil.Process(product.process.pid)


@asynccontextmanager
async def bare_program(server: QueueServer, home: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """The program that we are held against."""
    port = new_port()
    arguments = (
        sys.executable,
        "-m",
        "tests.bench.api.direct_publisher",
        server.admin_url,
        str(port),
    )
    process = Process(Command("bare-ingest", arguments), home)
    process.start()
    try:
        url, connector = f"http://{HOST}:{port}", aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(url, connector=connector) as session:
            await eventually(lambda: post(session, "/", -1), tolerate=aiohttp.ClientError)
            yield session
    finally:
        await process.stop()


async def rate(
    session: aiohttp.ClientSession, path: str, numbers: "itertools.count[int]", count: int
) -> float:
    """Invocations a second, by callers who each wait for their answer."""

    async def caller() -> None:
        for _ in range(count // CALLERS):
            await post(session, path, next(numbers))

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(caller())
    return count / (time.perf_counter() - began)


async def post(session: aiohttp.ClientSession, path: str, number: int) -> bool:
    body = {"serverlessRequestID": "bench", "invocationID": f"i{number}", "payload": PAYLOAD}
    async with session.post(path, json=body) as response:
        response.raise_for_status()
        await response.read()
    return True


def rows(ours: float, bare: float, spent: float, rss: float) -> list[Measure]:
    what = "invocations accepted a second against a bare parse and publish"
    return [
        measured(what, ours, bare, ">= 0.5x", "/s"),
        measured("CPU of the API for an invocation", spent, None),
        measured("RSS of the API after invocations", rss, None, "", "MiB"),
    ]
