"""The load of widgets: creates, and changes at a steady rate."""

import asyncio
import json
import random
import time
from collections.abc import Iterable

import msgspec

from hack.cluster.admin_client import ApiStatusError
from tests.bench.connection import Connection
from tests.bench.library.widget_crd import (
    bench_namespaces,
    widget_crd,
    widget_namespace,
    widget_path,
    widgets_path,
)
from tests.bench.library.widget_manifest import widget_manifest
from tests.bench.reports import LatencyReport, summarise
from tests.support.wait.eventually import eventually

WORKERS = 16
CONFLICT_STATUS = 409
CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class StoredMetadata(msgspec.Struct, rename="camel"):
    """The name and version of a stored widget."""

    name: str
    resource_version: str


class StoredWidget(msgspec.Struct):
    """The fields of a stored widget that filling needs."""

    metadata: StoredMetadata
    status: dict[str, msgspec.Raw] = {}


class StoredWidgetList(msgspec.Struct):
    """The list of all widgets."""

    items: list[StoredWidget]


async def install_widget_crd(connection: Connection) -> None:
    """Create the definition and the namespaces, unless they exist."""
    definition = widget_crd()
    await create_if_absent(connection, CRDS_PATH, definition)
    for name in bench_namespaces():
        await create_if_absent(connection, "/api/v1/namespaces", {"metadata": {"name": name}})
    stored = f"{CRDS_PATH}/{definition['metadata']['name']}"
    await eventually(lambda: connection.get(stored), is_established)
    await list_widgets(connection)


def is_established(definition: bytes) -> bool:
    conditions = json.loads(definition)["status"].get("conditions") or ()
    return ("Established", "True") in [(c["type"], c["status"]) for c in conditions]


async def list_widgets(connection: Connection) -> bytes:
    """Return the list of all widgets; a server refuses it shortly after the definition."""
    return await eventually(lambda: connection.get(widgets_path()), tolerate=ApiStatusError)


async def create_if_absent(connection: Connection, path: str, body: dict[str, object]) -> None:
    try:
        await connection.create(path, body)
    except ApiStatusError as error:
        if error.status != CONFLICT_STATUS:
            raise


async def create_widgets(connection: Connection, count: int) -> int:
    """Create the missing widgets of the first `count`, with a status; return their number."""
    listed = msgspec.json.decode(await list_widgets(connection), type=StoredWidgetList)
    stored = {item.metadata.name: item for item in listed.items}
    missing = [
        n for n in range(count) if not has_status(stored.get(widget_path(n).rsplit("/")[-1]))
    ]
    pending = iter(missing)
    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(create_each(connection, pending))
    return len(missing)


def has_status(widget: StoredWidget | None) -> bool:
    return widget is not None and bool(widget.status)


async def create_each(connection: Connection, numbers: Iterable[int]) -> None:
    for number in numbers:
        await create_widget(connection, number)


async def create_widget(connection: Connection, number: int) -> None:
    """Create a widget, then write its status, which a create ignores."""
    widget = widget_manifest(number)
    try:
        stored = await connection.create(widgets_path(widget_namespace(number)), widget)
    except ApiStatusError as error:
        if error.status != CONFLICT_STATUS:
            raise
        stored = await connection.get(widget_path(number))
    version = msgspec.json.decode(stored, type=StoredWidget).metadata.resource_version
    widget["metadata"]["resourceVersion"] = version
    await connection.replace(f"{widget_path(number)}/status", widget)


async def change_widgets(
    connection: Connection, rate: float, seconds: float, count: int, randomness: random.Random
) -> LatencyReport:
    """Change random widgets at `rate` a second; returns the latency of the writes."""
    loop = asyncio.get_running_loop()
    started, durations = loop.time(), list[float]()
    async with asyncio.TaskGroup() as group:
        for turn in range(int(rate * seconds)):
            await asyncio.sleep(started + turn / rate - loop.time())
            group.create_task(write_stamp(connection, randomness.randrange(count), durations))
    return summarise(durations)


async def write_stamp(connection: Connection, number: int, durations: list[float]) -> None:
    began = time.time_ns()
    await connection.patch(widget_path(number), {"spec": {"stamp": str(began)}})
    durations.append((time.time_ns() - began) / 1e9)
