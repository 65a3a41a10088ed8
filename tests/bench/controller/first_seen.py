"""See from outside, by watching, when each unit is bound, runs and is Ready."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp
import msgspec

from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.wellknown import UNIT_LABEL
from tests.bench.connection import Connection

REST_SECONDS = 0.05


class Metadata(msgspec.Struct):
    """Which object it is."""

    name: str = ""
    labels: dict[str, str] = {}


class Spec(msgspec.Struct, rename="camel"):
    """Of a pod: where it was put."""

    node_name: str = ""


class Condition(msgspec.Struct):
    """One of the things that a pod says of itself."""

    type: str
    status: str


class Status(msgspec.Struct):
    """How far it is."""

    phase: str = ""
    conditions: list[Condition] = []


class Item(msgspec.Struct):
    """As much of a unit or a pod as the bench looks at."""

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)


class Change(msgspec.Struct):
    """One line of a watch."""

    object: Item


class Sightings:
    """When something was first seen of each unit."""

    def __init__(self, unit_of: Callable[[Item], str | None], wanted: int) -> None:
        self.at: dict[str, float] = {}
        self.complete = asyncio.Event()
        self._unit_of = unit_of
        self._wanted = wanted

    def note(self, item: Item, now: float) -> None:
        if unit := self._unit_of(item):
            self.at.setdefault(unit, now)
        if len(self.at) >= self._wanted:
            self.complete.set()


def ready_unit(item: Item) -> str | None:
    """The name of a unit that is Ready."""
    return item.metadata.name if item.status.phase == UnitPhase.READY else None


def unit_of_bound_pod(item: Item) -> str | None:
    """The unit of a pod that has a node."""
    return item.metadata.labels.get(UNIT_LABEL) if item.spec.node_name else None


def unit_of_ready_pod(item: Item) -> str | None:
    """The unit of a pod that does its work."""
    is_ready = any((each.type, each.status) == ("Ready", "True") for each in item.status.conditions)
    return item.metadata.labels.get(UNIT_LABEL) if is_ready else None


@asynccontextmanager
async def watching(connection: Connection, path: str, *sightings: Sightings) -> AsyncIterator[None]:
    """Note what a watch of everything at `path` tells while the block lasts."""
    async with asyncio.TaskGroup() as group:
        following = group.create_task(follow(connection, path, sightings))
        yield
        following.cancel()


async def follow(connection: Connection, path: str, sightings: Sequence[Sightings]) -> None:
    """A busy server ends watches or refuses them; a new one begins with everything there is."""
    while True:
        try:
            await follow_once(connection, path, sightings)
        except aiohttp.ClientError:
            await asyncio.sleep(REST_SECONDS)


async def follow_once(connection: Connection, path: str, sightings: Sequence[Sightings]) -> None:
    decode, rest = msgspec.json.Decoder(Change).decode, b""
    async for chunk in connection.chunks(path, watch="true"):
        now = time.perf_counter()
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            item = decode(line).object
            for each in sightings:
                each.note(item, now)
