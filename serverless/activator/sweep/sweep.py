"""Finds the records that nobody can finish any more, every ten seconds.

It follows the bucket in the order of the changes and remembers only records that are open, by
where they were written. One that has changed since comes again at its new place.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from controller.runtime.clock import Clock
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.function_existence import Homes
from serverless.activator.sweep.hands import work_off
from serverless.activator.sweep.invocation_store import Records, record_in
from serverless.activator.sweep.settle import Settling
from serverless.activator.timestamps import now_ms
from serverless.nats.errors import QueueError, UnavailableError
from serverless.nats.stored_message import Stored
from shared.invocation.limits import CLOCK_SKEW_SECONDS
from shared.invocation.queue_names import ids_of, is_record_key
from shared.invocation.state import State

ROUND_SECONDS: Final = 10.0
PAGE: Final = 256
PAGE_BYTES: Final = 4 * 1024 * 1024
MOST_OPEN: Final = 250_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Open:
    """A record that is not final, or not told; times are milliseconds since 1970."""

    key: str
    function_uid: str
    is_queued: bool
    is_final: bool
    run: int
    accepted_at: int
    changed_at: int
    due_at: int


class Sweep:
    """What is open, as far as it was followed; memory is bounded by `most` records."""

    def __init__(
        self,
        records: Records,
        settling: Settling,
        homes: Homes,
        clock: Clock,
        most: int = MOST_OPEN,
    ) -> None:
        self._records = records
        self._settling = settling
        self._homes = homes
        self._clock = clock
        self._most = most
        self._cursor = 0
        self._open: dict[int, Open] = {}
        self.dead_letters: dict[str, int] | None = None  # until somebody has looked
        self.record_fullness = 0.0

    def oldest(self) -> dict[str, int]:
        """When the oldest invocation of each function that waits was accepted."""
        found: dict[str, int] = {}
        latest = {each.key: each for each in self._open.values()}  # a later place knows better
        for each in latest.values():
            request_id = ids_of(each.key)[0]
            if each.is_queued:
                found[request_id] = min(each.accepted_at, found.get(request_id, each.accepted_at))
        return found

    async def round(self) -> None:
        """Follow what has changed, then look at what has been quiet or is overdue."""
        await self._follow()
        self._homes.look_anew()
        await work_off(await self._due(), self._settle)
        self.dead_letters = await self._records.dead_letters()

    async def _follow(self) -> None:
        extent = await self._records.extent()
        self.record_fullness = extent.fullness
        if extent.last_sequence < self._cursor:
            self._cursor, self._open = 0, {}  # another stream: the queue has lost the one before
        while len(self._open) < self._most:
            page = await self._records.page(">", self._cursor + 1, PAGE, PAGE_BYTES)
            if not page:
                return
            self._open |= dict(self._opened(page))
            self._cursor = page[-1].sequence

    def _opened(self, page: list[Stored]) -> Iterator[tuple[int, Open]]:
        for stored in page:
            record, key = record_in(stored), self._records.key_of(stored)
            if record is None or (record.is_final and record.published) or not is_record_key(key):
                continue
            yield (
                stored.sequence,
                Open(
                    key=key,
                    function_uid=record.function_uid,
                    is_queued=record.state is State.QUEUED,
                    is_final=record.is_final,
                    run=record.run,
                    accepted_at=record.accepted_at,
                    changed_at=stored.at,
                    due_at=record.overdue_at + CLOCK_SKEW_SECONDS * 1000,
                ),
            )

    async def _due(self) -> list[int]:
        """The sequences to look at: overdue, or quiet without a message that brings them on."""
        now = now_ms(self._clock)
        overdue = [at for at, each in self._open.items() if not each.is_final and each.due_at < now]
        quiet = {at: each for at, each in self._open.items() if now - each.changed_at >= QUIET_MS}
        queued: dict[str, set[str]] = {}
        for request_id in {ids_of(each.key)[0] for each in quiet.values()}:
            queued[request_id] = await self._records.queued(request_id)
        needs_look = is_unattended(queued, self._homes.is_gone)
        unattended = [at for at, each in quiet.items() if needs_look(each)]
        return list(dict.fromkeys([*overdue, *unattended]))

    async def _settle(self, sequence: int) -> None:
        stored = await self._records.latest(self._open[sequence].key)
        try:
            is_over = (
                stored is None
                or stored.sequence != sequence  # it has changed, and is open anew if it is
                or await self._settling.settle(stored, self._homes.of)
            )
        except UnavailableError:
            raise
        except QueueError as error:
            about = {"sequence": sequence, "queueError": str(error)}
            log.warning("record_not_settled", extra=about)
            return
        if is_over:
            self._open.pop(sequence, None)


def is_unattended(
    queued: dict[str, set[str]], is_gone: Callable[[str, str], bool]
) -> Callable[[Open], bool]:
    """Tells whether a quiet record needs a look: a message that is there will bring a worker.

    Not so for the message of an older run, so later runs are always looked at.
    """

    def needs_look(each: Open) -> bool:
        request_id, invocation_id = ids_of(each.key)
        is_brought = invocation_id in queued[request_id] and each.run == 1
        return each.is_final or not is_brought or is_gone(request_id, each.function_uid)

    return needs_look
