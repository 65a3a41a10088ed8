"""Whether there is room for more records, with what the present ones need for their outcomes."""

from dataclasses import dataclass
from typing import Final

from apiserver.clock import Clock
from apiserver.errors import QueueFullError
from apiserver.nats.port import Queue
from apiserver.single_flight import SingleFlight
from shared.invocation.limits import INLINE_BYTES, LEAST_INLINE_BYTES

SECONDS: Final = 1.0
# A record grows until it is final. In a full bucket nothing could be run, ended or cancelled any
# more, so the rest is kept for those that were accepted.
FULLEST: Final = 0.8
# By how much, with a result of LEAST_INLINE_BYTES and the headers of an answer.
GROWTH_BYTES: Final = 8 * 1024
# Who comes early gets a larger share than those after it, 1/1 + 1/2 + 1/3 ... parts together; with
# so many parts all that may ever be accepted have room, also if each takes its whole share.
PARTS: Final = 24

_ALL: Final = ""
_BASE64: Final = 4 / 3


@dataclass(frozen=True, slots=True)
class Room:
    """The bytes that records take and may take (0 is no limit), and how many are not final."""

    taken: int
    most: int
    open: int

    @property
    def left(self) -> float:
        """What nobody has taken and nobody counts on."""
        return FULLEST * self.most - self.taken - self.open * GROWTH_BYTES


def is_left(room: Room) -> bool:
    """Whether one more may be accepted."""
    return not room.most or room.left > 0


def inline_bytes(room: Room) -> int:
    """How large a result the record of the next one may hold, if all hold as much as they may."""
    if not room.most:
        return INLINE_BYTES
    share = room.left / (room.open + 1) / PARTS / _BASE64
    return int(min(INLINE_BYTES, max(LEAST_INLINE_BYTES, share)))


class RecordRoom:
    """Asks how much room there is, once for all who ask within a second."""

    def __init__(self, queue: Queue, clock: Clock) -> None:
        self._queue = queue
        self._rooms = SingleFlight[Room](clock, SECONDS)
        self._shared = 0

    async def is_left(self) -> bool:
        """Whether one more may be accepted."""
        return is_left(await self._room())

    async def share(self) -> int:
        """How large a result the record of one more may hold."""
        share = inline_bytes(await self._room())
        self._shared += 1
        return share

    async def _room(self) -> Room:
        """The room as it was seen last, less what was given since."""
        seen = await self._rooms.get(_ALL, self._seen)
        return Room(seen.taken, seen.most, seen.open + self._shared)

    async def _seen(self) -> Room:
        extent = await self._queue.records.extent()
        held = await self._queue.calls.held_by_all()
        self._shared = 0
        return Room(extent.taken, extent.most, held)


def crowded() -> QueueFullError:
    """What a caller is told whose record has no room."""
    return QueueFullError(
        "the records of invocations have no room for more; they are kept for "
        "nats.limits.recordRetention, and may take nats.limits.maxStreamBytes",
        retry_after=10,
    )
