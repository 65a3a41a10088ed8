"""The times at which a watch first shows each unit as bound, running and ready."""

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
    """The name and labels of an object."""

    name: str = ""
    labels: dict[str, str] = {}


class ObservedSpec(msgspec.Struct, rename="camel"):
    """The node of a pod."""

    node_name: str = ""


class ObservedCondition(msgspec.Struct):
    """A condition of a pod."""

    type: str
    status: str


class ObservedStatus(msgspec.Struct):
    """The phase and the conditions of an object."""

    phase: str = ""
    conditions: list[ObservedCondition] = []


class ObservedObject(msgspec.Struct):
    """The fields of a unit or a pod that the benchmark reads."""

    metadata: ObservedMetadata
    spec: ObservedSpec = msgspec.field(default_factory=ObservedSpec)
    status: ObservedStatus = msgspec.field(default_factory=ObservedStatus)


class WatchEvent(msgspec.Struct):
    """One line of a watch."""

    object: ObservedObject


class FirstSeenTimes:
    """The time at which each unit was first seen in a state."""

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
    """Return the name of a unit that is Ready, otherwise None."""
    return observed.metadata.name if observed.status.phase == UnitPhase.READY else None


def unit_of_bound_pod(observed: ObservedObject) -> str | None:
    """Return the unit of a pod that has a node, otherwise None."""
    return observed.metadata.labels.get(UNIT_LABEL) if observed.spec.node_name else None


def unit_of_ready_pod(observed: ObservedObject) -> str | None:
    """Return the unit of a ready pod, otherwise None."""
    is_ready = any(
        (condition.type, condition.status) == ("Ready", "True")
        for condition in observed.status.conditions
    )
    return observed.metadata.labels.get(UNIT_LABEL) if is_ready else None


@asynccontextmanager
async def record_first_seen(
    connection: Connection, path: str, *recorders: FirstSeenTimes
) -> AsyncIterator[None]:
    """Watch all objects at `path` for the length of the block."""
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(watch_until_cancelled(connection, path, recorders))
        yield
        watch.cancel()


async def watch_until_cancelled(
    connection: Connection, path: str, recorders: Sequence[FirstSeenTimes]
) -> None:
    """Watch, and repeat it when the server ends or refuses a watch; it begins with all objects."""
    while True:
        try:
            await watch_once(connection, path, recorders)
        except aiohttp.ClientError:
            await asyncio.sleep(RETRY_SECONDS)


async def watch_once(
    connection: Connection, path: str, recorders: Sequence[FirstSeenTimes]
) -> None:
    decode, remainder = msgspec.json.Decoder(WatchEvent).decode, b""
    async for chunk in connection.chunks(path, watch="true"):
        now = time.perf_counter()
        *lines, remainder = (remainder + chunk).split(b"\n")
        for line in lines:
            item = decode(line).object
            for recorder in recorders:
                recorder.record(item, now)
