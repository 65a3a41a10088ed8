"""Finds records that no worker can finish, every ten seconds.

It reads the changes of the bucket in order and keeps only open records, by their sequence. A record
that changes is read again at its new sequence.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from controller.runtime import Clock, run_bounded
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.function_existence import FunctionExistence
from serverless.activator.sweep.invocation_store import InvocationStore, try_decode_record
from serverless.activator.sweep.settle import RecordSettler
from serverless.nats.errors import QueueError, UnavailableError
from serverless.nats.stored_message import StoredMessage
from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.queue_names import is_record_key, parse_record_key
from shared.invocation.state import InvocationState
from shared.time import now_ms

INTERVAL_SECONDS: Final = 10.0
MAX_PAGE_MESSAGES: Final = 256
MAX_PAGE_BYTES: Final = 4 * 1024 * 1024
MAX_OPEN_RECORDS: Final = 250_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """A record that is not final or not published; times are milliseconds since 1970."""

    record_key: str
    function_uid: str
    is_queued: bool
    is_final: bool
    run: int
    accepted_at: int
    changed_at: int
    due_at: int


class Sweep:
    """The open records; at most `max_open` are kept in memory."""

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
        self.dead_letter_counts: dict[str, int] | None = None  # None before the first round
        self.records_used_ratio = 0.0

    def oldest_queued_times(self) -> dict[str, int]:
        """Return when the oldest queued invocation of each function was accepted."""
        times: dict[str, int] = {}
        # Of several sequences of one record the last one is current.
        latest = {record.record_key: record for record in self._open_by_sequence.values()}
        for record in latest.values():
            name = parse_record_key(record.record_key)[0]
            if record.is_queued:
                times[name] = min(record.accepted_at, times.get(name, record.accepted_at))
        return times

    async def run_round(self) -> None:
        """Read the changes, then settle records that are overdue or quiet."""
        await self._read_changes()
        self._function_existence.forget_live_reads()
        errors = await run_bounded(await self._due_sequences(), self._settle, QueueError)
        if errors:
            raise next(iter(errors.values()))  # the first in time
        self.dead_letter_counts = await self._invocation_store.count_dead_letters()

    async def _read_changes(self) -> None:
        usage = await self._invocation_store.get_usage()
        self.records_used_ratio = usage.used_ratio
        if usage.last_sequence < self._cursor:
            # A new stream: NATS has lost the old one.
            self._cursor, self._open_by_sequence = 0, {}
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
        """Return the sequences to settle: overdue, or quiet and without a message for a worker."""
        now = now_ms(self._clock)
        overdue = [
            sequence
            for sequence, record in self._open_by_sequence.items()
            if not record.is_final and record.due_at < now
        ]
        quiet = {
            sequence: record
            for sequence, record in self._open_by_sequence.items()
            if now - record.changed_at >= QUIET_MS
        }
        queued: dict[str, set[str]] = {}
        for name in {parse_record_key(record.record_key)[0] for record in quiet.values()}:
            queued[name] = await self._invocation_store.queued_invocation_ids(name)
        needs_settling = unattended_check(queued, self._function_existence.is_missing_in_cache)
        unattended = [sequence for sequence, record in quiet.items() if needs_settling(record)]
        return list(dict.fromkeys([*overdue, *unattended]))

    async def _settle(self, sequence: int) -> None:
        stored = await self._invocation_store.get_record(
            self._open_by_sequence[sequence].record_key
        )
        try:
            is_settled = (
                stored is None
                or stored.sequence
                != sequence  # it has changed; if it is open, it has another entry
                or await self._settler.settle(stored, self._function_existence.check)
            )
        except UnavailableError:
            raise
        except QueueError as error:
            fields = {"sequence": sequence, "queueError": str(error)}
            log.warning("record_not_settled", extra=fields)
            return
        if is_settled:
            self._open_by_sequence.pop(sequence, None)


def unattended_check(
    queued_ids: dict[str, set[str]], is_missing_in_cache: Callable[[str, str], bool]
) -> Callable[[OpenRecord], bool]:
    """Return a predicate: whether a quiet record must be settled, and not only waits for a worker.

    Its message may be of an older run, so records of later runs are always checked.
    """

    def needs_settling(record: OpenRecord) -> bool:
        function_name, invocation_id = parse_record_key(record.record_key)
        has_call = invocation_id in queued_ids[function_name] and record.run == 1
        if record.is_final or not has_call:
            return True
        return is_missing_in_cache(function_name, record.function_uid)

    return needs_settling
