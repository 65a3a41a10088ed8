"""Finds the records that nobody can finish any more, every ten seconds.

It follows the bucket in the order of the changes and remembers only records that are open, by
where they were written. One that has changed since comes again at its new place.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from controller.runtime.clock import Clock
from controller.runtime.loop.bounded import run_bounded
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.function_existence import FunctionExistence
from serverless.activator.sweep.invocation_store import InvocationStore, try_decode_record
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.timestamps import now_ms
from serverless.nats.errors import QueueError, UnavailableError
from serverless.nats.stored_message import StoredMessage
from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.queue_names import is_record_key, parse_record_key
from shared.invocation.state import InvocationState

INTERVAL_SECONDS: Final = 10.0
MAX_PAGE_MESSAGES: Final = 256
MAX_PAGE_BYTES: Final = 4 * 1024 * 1024
MAX_OPEN_RECORDS: Final = 250_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """A record that is not final, or not told; times are milliseconds since 1970."""

    record_key: str
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
        invocation_store: InvocationStore,
        settler: RecordSettler,
        function_existence: FunctionExistence,
        clock: Clock,
        max_open: int = MAX_OPEN_RECORDS,
    ) -> None:
        self._invocation_store = invocation_store
        self._settler = settler
        self._function_existence = function_existence
        self._clock = clock
        self._max_open = max_open
        self._cursor = 0
        self._open_by_sequence: dict[int, OpenRecord] = {}
        self.dead_letter_counts: dict[str, int] | None = None  # until somebody has looked
        self.records_used_ratio = 0.0

    def oldest_queued_times(self) -> dict[str, int]:
        """When the oldest invocation of each function that waits was accepted."""
        found: dict[str, int] = {}
        latest = {
            each.record_key: each for each in self._open_by_sequence.values()
        }  # a later place knows better
        for each in latest.values():
            request_id = parse_record_key(each.record_key)[0]
            if each.is_queued:
                found[request_id] = min(each.accepted_at, found.get(request_id, each.accepted_at))
        return found

    async def run_round(self) -> None:
        """Follow what has changed, then look at what has been quiet or is overdue."""
        await self._read_changes()
        self._function_existence.forget_live_reads()
        errors = await run_bounded(await self._due_sequences(), self._settle, QueueError)
        if errors:
            raise next(iter(errors.values()))  # the first in time
        self.dead_letter_counts = await self._invocation_store.count_dead_letters()

    async def _read_changes(self) -> None:
        extent = await self._invocation_store.get_usage()
        self.records_used_ratio = extent.used_ratio
        if extent.last_sequence < self._cursor:
            self._cursor, self._open_by_sequence = (
                0,
                {},
            )  # another stream: the queue has lost the one before
        while len(self._open_by_sequence) < self._max_open:
            page = await self._invocation_store.read_page(
                ">", self._cursor + 1, MAX_PAGE_MESSAGES, MAX_PAGE_BYTES
            )
            if not page:
                return
            self._open_by_sequence |= dict(self._open_records(page))
            self._cursor = page[-1].sequence

    def _open_records(
        self, stored_messages: list[StoredMessage]
    ) -> Iterator[tuple[int, OpenRecord]]:
        for stored in stored_messages:
            record, key = try_decode_record(stored), self._invocation_store.record_key_of(stored)
            if record is None or (record.is_final and record.published) or not is_record_key(key):
                continue
            yield (
                stored.sequence,
                OpenRecord(
                    record_key=key,
                    function_uid=record.function_uid,
                    is_queued=record.state is InvocationState.QUEUED,
                    is_final=record.is_final,
                    run=record.run,
                    accepted_at=record.accepted_at,
                    changed_at=stored.stored_at,
                    due_at=record.expires_at + MAX_CLOCK_SKEW_SECONDS * 1000,
                ),
            )

    async def _due_sequences(self) -> list[int]:
        """The sequences to look at: overdue, or quiet without a message that brings them on."""
        now = now_ms(self._clock)
        overdue = [
            at
            for at, each in self._open_by_sequence.items()
            if not each.is_final and each.due_at < now
        ]
        quiet = {
            at: each
            for at, each in self._open_by_sequence.items()
            if now - each.changed_at >= QUIET_MS
        }
        queued: dict[str, set[str]] = {}
        for request_id in {parse_record_key(each.record_key)[0] for each in quiet.values()}:
            queued[request_id] = await self._invocation_store.queued_invocation_ids(request_id)
        needs_look = unattended_check(queued, self._function_existence.is_missing_in_cache)
        unattended = [at for at, each in quiet.items() if needs_look(each)]
        return list(dict.fromkeys([*overdue, *unattended]))

    async def _settle(self, sequence: int) -> None:
        stored = await self._invocation_store.get_record(
            self._open_by_sequence[sequence].record_key
        )
        try:
            is_over = (
                stored is None
                or stored.sequence != sequence  # it has changed, and is open anew if it is
                or await self._settler.settle(stored, self._function_existence.check)
            )
        except UnavailableError:
            raise
        except QueueError as error:
            about = {"sequence": sequence, "queueError": str(error)}
            log.warning("record_not_settled", extra=about)
            return
        if is_over:
            self._open_by_sequence.pop(sequence, None)


def unattended_check(
    queued_ids: dict[str, set[str]], is_missing_in_cache: Callable[[str, str], bool]
) -> Callable[[OpenRecord], bool]:
    """Tells whether a quiet record needs a look: a message that is there will bring a worker.

    Not so for the message of an older run, so later runs are always looked at.
    """

    def needs_look(each: OpenRecord) -> bool:
        request_id, invocation_id = parse_record_key(each.record_key)
        is_brought = invocation_id in queued_ids[request_id] and each.run == 1
        return each.is_final or not is_brought or is_missing_in_cache(request_id, each.function_uid)

    return needs_look
