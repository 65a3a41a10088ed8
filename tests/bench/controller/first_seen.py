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

RETRY_SECONDS = 0.05


class ObservedMetadata(msgspec.Struct):
    """Which object it is."""

    name: str = ""
    labels: dict[str, str] = {}


class ObservedSpec(msgspec.Struct, rename="camel"):
    """Of a pod: where it was put."""

    node_name: str = ""


class ObservedCondition(msgspec.Struct):
    """One of the things that a pod says of itself."""

    type: str
    status: str


class ObservedStatus(msgspec.Struct):
    """How far it is."""

    phase: str = ""
    conditions: list[ObservedCondition] = []


class ObservedObject(msgspec.Struct):
    """As much of a unit or a pod as the bench looks at."""

    metadata: ObservedMetadata
    spec: ObservedSpec = msgspec.field(default_factory=ObservedSpec)
    status: ObservedStatus = msgspec.field(default_factory=ObservedStatus)


class WatchEvent(msgspec.Struct):
    """One line of a watch."""

    object: ObservedObject


class FirstSeenTimes:
    """When something was first seen of each unit."""

    def __init__(
        self, unit_of: Callable[[ObservedObject], str | None], expected_count: int
    ) -> None:
        self.seconds_by_unit: dict[str, float] = {}
        self.all_seen = asyncio.Event()
        self._unit_of = unit_of
        self._expected_count = expected_count

    def record(self, observed: ObservedObject, now: float) -> None:
        if unit := self._unit_of(observed):
            self.seconds_by_unit.setdefault(unit, now)
        if len(self.seconds_by_unit) >= self._expected_count:
            self.all_seen.set()


def ready_unit_name(observed: ObservedObject) -> str | None:
    """The name of a unit that is Ready."""
    return observed.metadata.name if observed.status.phase == UnitPhase.READY else None


def unit_of_bound_pod(observed: ObservedObject) -> str | None:
    """The unit of a pod that has a node."""
    return observed.metadata.labels.get(UNIT_LABEL) if observed.spec.node_name else None


def unit_of_ready_pod(observed: ObservedObject) -> str | None:
    """The unit of a pod that does its work."""
    is_ready = any(
        (each.type, each.status) == ("Ready", "True") for each in observed.status.conditions
    )
    return observed.metadata.labels.get(UNIT_LABEL) if is_ready else None


@asynccontextmanager
async def record_first_seen(
    connection: Connection, path: str, *recorders: FirstSeenTimes
) -> AsyncIterator[None]:
    """Note what a watch of everything at `path` tells while the block lasts."""
    async with asyncio.TaskGroup() as group:
        following = group.create_task(watch_until_cancelled(connection, path, recorders))
        yield
        following.cancel()


async def watch_until_cancelled(
    connection: Connection, path: str, recorders: Sequence[FirstSeenTimes]
) -> None:
    """A busy server ends watches or refuses them; a new one begins with everything there is."""
    while True:
        try:
            await watch_once(connection, path, recorders)
        except aiohttp.ClientError:
            await asyncio.sleep(RETRY_SECONDS)


async def watch_once(
    connection: Connection, path: str, recorders: Sequence[FirstSeenTimes]
) -> None:
    decode, rest = msgspec.json.Decoder(WatchEvent).decode, b""
    async for chunk in connection.chunks(path, watch="true"):
        now = time.perf_counter()
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            item = decode(line).object
            for each in recorders:
                each.record(item, now)
