"""Whether there is room for more records, with what the present ones need for their outcomes."""

from typing import Final

from apiserver.clock import Clock
from apiserver.errors import QueueFullError
from apiserver.queue_gateway import RecordStore
from apiserver.services.single_flight import SingleFlight

SECONDS: Final = 1.0
# A record grows until it is final. In a full bucket nothing could be run, ended or cancelled any
# more, so the rest is kept for those that were accepted.
FULLEST: Final = 0.8

_ALL: Final = ""


class RecordRoom:
    """Asks how full the bucket of records is, once for all who ask within a second."""

    def __init__(self, records: RecordStore, clock: Clock) -> None:
        self._records = records
        self._fullness = SingleFlight[float](clock, SECONDS)

    async def is_left(self) -> bool:
        """Whether one more may be accepted."""
        return await self._fullness.get(_ALL, self._records.fullness) < FULLEST


def crowded() -> QueueFullError:
    """What a caller is told whose record has no room."""
    return QueueFullError(
        "the records of invocations have no room for more; they are kept for "
        "nats.limits.recordRetention, and may take nats.limits.maxStreamBytes",
        retry_after=10,
    )
