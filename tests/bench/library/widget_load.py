"""Fill the cluster with widgets, and change them at a steady rate."""

import asyncio
import json
import random
import time
from collections.abc import Iterable

import msgspec

from hack.cluster.admin_client import RefusedError
from tests.bench.connection import Connection
from tests.bench.library.widget_crd import collection, crd, namespace_of, namespaces, path
from tests.bench.library.widget_manifest import a_widget
from tests.bench.reports import LatencyReport, summary
from tests.support.wait.eventually import eventually

WORKERS = 16
ALREADY_THERE = 409
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Metadata(msgspec.Struct, rename="camel"):
    """What tells one stored widget from another."""

    name: str
    resource_version: str


class Stored(msgspec.Struct):
    """As much of a stored widget as filling needs."""

    metadata: Metadata
    status: dict[str, msgspec.Raw] = {}


class StoredList(msgspec.Struct):
    """All of them."""

    items: list[Stored]


async def install(connection: Connection) -> None:
    """The definition and the namespaces; what is there stays."""
    definition = crd()
    await unless_there(connection, DEFINITIONS, definition)
    for name in namespaces():
        await unless_there(connection, "/api/v1/namespaces", {"metadata": {"name": name}})
    stored = f"{DEFINITIONS}/{definition['metadata']['name']}"
    await eventually(lambda: connection.get(stored), is_established)
    await everything(connection)


def is_established(definition: bytes) -> bool:
    conditions = json.loads(definition)["status"].get("conditions") or ()
    return ("Established", "True") in [(c["type"], c["status"]) for c in conditions]


async def everything(connection: Connection) -> bytes:
    """The whole list; right after the definition it is refused now and then."""
    return await eventually(lambda: connection.get(collection()), tolerate=RefusedError)


async def unless_there(connection: Connection, where: str, body: dict[str, object]) -> None:
    try:
        await connection.create(where, body)
    except RefusedError as error:
        if error.status != ALREADY_THERE:
            raise


async def fill(connection: Connection, count: int) -> int:
    """Make those of the first `count` widgets that are not there with their status; how many."""
    listed = msgspec.json.decode(await everything(connection), type=StoredList)
    stored = {item.metadata.name: item for item in listed.items}
    todo = [n for n in range(count) if not complete(stored.get(path(n).rsplit("/")[-1]))]
    left = iter(todo)
    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(make_each(connection, left))
    return len(todo)


def complete(widget: Stored | None) -> bool:
    return widget is not None and bool(widget.status)


async def make_each(connection: Connection, numbers: Iterable[int]) -> None:
    for number in numbers:
        await make(connection, number)


async def make(connection: Connection, number: int) -> None:
    """Create it, then write its status, which a create ignores."""
    widget = a_widget(number)
    try:
        answer = await connection.create(collection(namespace_of(number)), widget)
    except RefusedError as error:
        if error.status != ALREADY_THERE:
            raise
        answer = await connection.get(path(number))
    version = msgspec.json.decode(answer, type=Stored).metadata.resource_version
    widget["metadata"]["resourceVersion"] = version
    await connection.replace(f"{path(number)}/status", widget)


async def drive(
    connection: Connection, rate: float, seconds: float, count: int, randomness: random.Random
) -> LatencyReport:
    """Change random widgets at `rate` a second, late or not; how long the writes took."""
    loop = asyncio.get_running_loop()
    started, took = loop.time(), list[float]()
    async with asyncio.TaskGroup() as group:
        for turn in range(int(rate * seconds)):
            await asyncio.sleep(started + turn / rate - loop.time())
            group.create_task(stamp(connection, randomness.randrange(count), took))
    return summary(took)


async def stamp(connection: Connection, number: int, took: list[float]) -> None:
    began = time.time_ns()
    await connection.patch(path(number), {"spec": {"stamp": str(began)}})
    took.append((time.time_ns() - began) / 1e9)
