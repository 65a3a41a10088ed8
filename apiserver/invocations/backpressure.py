"""Backpressure: whether a queue and the records have room for one more invocation."""

from dataclasses import dataclass
from typing import Final

from apiserver.errors import QueueFullError
from apiserver.nats.port import CallQueue, QueuePorts
from apiserver.single_flight import SingleFlightCache
from shared.clock import Clock
from shared.invocation.limits import DEFAULT_INLINE_BYTES, MIN_INLINE_BYTES
from shared.v1alpha1.function import Function

QUEUE_CACHE_SECONDS: Final = 1.0
RECORDS_CACHE_SECONDS: Final = 1.0
# A record grows until it is final. In a full bucket no invocation could run, end or be cancelled:
# the remaining space is reserved for accepted invocations.
MAX_FILL_RATIO: Final = 0.8
# The growth of a record with a result of MIN_INLINE_BYTES and the headers of a response.
RECORD_GROWTH_BYTES: Final = 8 * 1024
# Earlier records get a larger share than later ones, 1/1 + 1/2 + 1/3 ... parts in total. With this
# number of parts all accepted records have room, even if each uses its whole share.
SHARE_DIVISOR: Final = 24

_ALL_RECORDS_KEY: Final = ""
_BASE64_RATIO: Final = 4 / 3


class QueueDepth:
    """Queued calls by function, counted at most once a second."""

    def __init__(self, call_queue: CallQueue, clock: Clock) -> None:
        self._call_queue = call_queue
        self._counts = SingleFlightCache[int](clock, QUEUE_CACHE_SECONDS)

    async def has_room(self, function: Function) -> bool:
        """Return whether one more call of the function may be queued."""
        name = function.metadata.name
        queued = await self._counts.get(name, lambda: self._call_queue.count_pending(name))
        return queued < function.spec.max_queued


def queue_full_error(function: Function) -> QueueFullError:
    """Return the error for a full queue of a function."""
    name, max_queued = function.metadata.name, function.spec.max_queued
    message = f"the function {name!r} has {max_queued} queued invocations, which is its maxQueued"
    return QueueFullError(message, retry_after=1)


@dataclass(frozen=True, slots=True)
class RecordCapacity:
    """The used and maximum bytes of records (0 is no limit), and the number of open records."""

    used_bytes: int
    max_bytes: int
    open_records: int

    @property
    def free_bytes(self) -> float:
        """Return the bytes that are neither used nor reserved."""
        return (
            MAX_FILL_RATIO * self.max_bytes
            - self.used_bytes
            - self.open_records * RECORD_GROWTH_BYTES
        )


def has_space(capacity: RecordCapacity) -> bool:
    """Return whether one more invocation may be accepted."""
    return not capacity.max_bytes or capacity.free_bytes > 0


def max_inline_bytes(capacity: RecordCapacity) -> int:
    """Return the maximum bytes of a result in the next record, if all records use their share."""
    if not capacity.max_bytes:
        return DEFAULT_INLINE_BYTES
    share = capacity.free_bytes / (capacity.open_records + 1) / SHARE_DIVISOR / _BASE64_RATIO
    return int(min(DEFAULT_INLINE_BYTES, max(MIN_INLINE_BYTES, share)))


class RecordSpace:
    """The space for records, read at most once a second."""

    def __init__(self, queue: QueuePorts, clock: Clock) -> None:
        self._queue = queue
        self._capacities = SingleFlightCache[RecordCapacity](clock, RECORDS_CACHE_SECONDS)
        self._reservations = 0

    async def has_space(self) -> bool:
        """Return whether one more invocation may be accepted."""
        return has_space(await self._current_capacity())

    async def reserve_inline_bytes(self) -> int:
        """Reserve space for one more record; return the maximum bytes of a result in it."""
        share = max_inline_bytes(await self._current_capacity())
        self._reservations += 1
        return share

    async def _current_capacity(self) -> RecordCapacity:
        """Return the capacity as it was last read, with the reservations since then."""
        capacity = await self._capacities.get(_ALL_RECORDS_KEY, self._read_capacity)
        return RecordCapacity(
            capacity.used_bytes, capacity.max_bytes, capacity.open_records + self._reservations
        )

    async def _read_capacity(self) -> RecordCapacity:
        usage = await self._queue.records.storage_usage()
        open_records = await self._queue.calls.count_all_unfinished()
        self._reservations = 0
        return RecordCapacity(usage.used_bytes, usage.max_bytes, open_records)


def records_full_error() -> QueueFullError:
    """Return the error for a record without space."""
    return QueueFullError(
        "there is no space for more records of invocations; records are kept for "
        "nats.limits.recordRetention, and may use nats.limits.maxStreamBytes",
        retry_after=10,
    )
