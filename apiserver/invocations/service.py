"""Accepted invocations: read, waited for, cancelled and redriven."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from apiserver.errors import ConflictError, NotFoundError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.archive_reader import ArchiveReader
from apiserver.invocations.backpressure import RecordSpace
from apiserver.invocations.commands import Invocation
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.publish_outcome import publish_outcome
from apiserver.nats.errors import QueueError, RecordConflictError
from apiserver.nats.port import QueuePorts
from shared.clock import Clock
from shared.invocation import transition
from shared.invocation.message import call_message
from shared.invocation.queue_names import record_key
from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState
from shared.time import now_ms

REREAD_INTERVAL_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VersionedInvocation:
    """An invocation and the revision at which it was read."""

    invocation: Invocation
    revision: int

    @property
    def record(self) -> InvocationRecord:
        """Return its record."""
        return self.invocation.record


@dataclass(frozen=True, slots=True)
class ResultBody:
    """The body of a result, as a stream."""

    content_type: str
    size: int
    chunks: AsyncIterator[bytes]


class InvocationService:
    """Reads, cancels and redrives invocations."""

    def __init__(
        self,
        queue: QueuePorts,
        function_lookup: FunctionLookup,
        record_space: RecordSpace,
        metrics: InvocationMetrics,
        clock: Clock,
        archive: ArchiveReader | None = None,
    ) -> None:
        self._queue = queue
        self._function_lookup = function_lookup
        self._record_space = record_space
        self._metrics = metrics
        self._clock = clock
        self._archive = archive

    async def get(self, function_name: str, invocation_id: str) -> Invocation:
        """Return the invocation as it is now, or as the archive has it; NotFoundError."""
        try:
            return (await self._read(function_name, invocation_id)).invocation
        except NotFoundError:
            if self._archive is None:
                raise
            function = await self._function_lookup.get(function_name)
            outcome = await self._archive.find(function.metadata.uid, invocation_id)
            if outcome is None:
                raise
            return Invocation(function_name, invocation_id, outcome.record)

    async def wait_final(self, invocation: Invocation, timeout_seconds: float) -> Invocation:
        """Return the invocation once it is final, or as it was last read at the timeout.

        Its record is read after every change, and every few seconds without one.
        """
        key = record_key(invocation.function_name, invocation.invocation_id)
        changes, record = self._queue.record_changes, invocation.record
        try:
            async with asyncio.timeout(timeout_seconds), changes.subscribe(key) as signal:
                while not (record := await self._reread(key, record)).is_final:
                    await signal.wait(REREAD_INTERVAL_SECONDS)
        except TimeoutError:
            pass
        return Invocation(invocation.function_name, invocation.invocation_id, record)

    async def cancel(self, function_name: str, invocation_id: str) -> Invocation:
        """Cancel a queued invocation, or notify the worker of a running one; ConflictError."""
        while True:
            current = await self._read(function_name, invocation_id)
            if current.record.state is InvocationState.CANCELLING:
                return current.invocation
            changed = cancel_record(current.record, now_ms(self._clock))
            try:
                written = await self._write(current, changed)
            except RecordConflictError:
                continue
            if changed.is_final:
                self._metrics.count_finished(function_name, changed.state)
            await self._notify_cancel(written)
            return written.invocation

    async def redrive(self, function_name: str, invocation_id: str) -> Invocation:
        """Start a new run of a final invocation; ConflictError."""
        await self._function_lookup.get_accepting(function_name)
        while True:
            current = await self._read(function_name, invocation_id)
            await self._require_redrivable(current)
            try:
                published = await publish_outcome(self._queue, current.invocation, current.revision)
                record = transition.redriven(current.record, now_ms(self._clock))
                inline_bytes = await self._record_space.reserve_inline_bytes()
                record = replace(record, request=replace(record.request, inline_bytes=inline_bytes))
                written = await self._write(
                    VersionedInvocation(current.invocation, published.revision), record
                )
            except RecordConflictError:
                continue
            await self._requeue(current.record, written)
            return written.invocation

    async def get_body(self, function_name: str, invocation_id: str) -> ResultBody:
        """Return the body of the result; NotFoundError without one."""
        record = (await self.get(function_name, invocation_id)).record
        if record.result is None:
            raise NotFoundError(f"the invocation is {record.state}: it has no result yet")
        body = record.result.body
        chunks = stream_bytes(body.inline)
        if body.object_name:
            if not await self._queue.bodies.exists(function_name, body.object_name):
                raise NotFoundError("the body of the result has expired")
            chunks = self._queue.bodies.get(function_name, body.object_name)
        return ResultBody(record.result.content_type, body.size or len(body.inline), chunks)

    async def _read(self, function_name: str, invocation_id: str) -> VersionedInvocation:
        """Read a record; one of an earlier function of that name counts as absent."""
        function = await self._function_lookup.get(function_name)
        stored = await self._queue.records.find(record_key(function_name, invocation_id))
        record = stored.record if stored else None
        if stored is None or record is None or record.function_uid != function.metadata.uid:
            raise NotFoundError(f"there is no invocation {invocation_id!r} of {function_name!r}")
        return VersionedInvocation(
            Invocation(function_name, invocation_id, record), stored.revision
        )

    async def _reread(self, key: str, last_record: InvocationRecord) -> InvocationRecord:
        """Return the record, or `last_record` if it is gone or the queue does not respond."""
        try:
            stored = await self._queue.records.find(key)
        except QueueError:
            return last_record
        record = stored.record if stored else None
        if record is None or record.function_uid != last_record.function_uid:
            return last_record
        return record

    async def _write(
        self, current: VersionedInvocation, record: InvocationRecord
    ) -> VersionedInvocation:
        ids = current.invocation.function_name, current.invocation.invocation_id
        revision = await self._queue.records.put(record_key(*ids), record, current.revision)
        return VersionedInvocation(Invocation(*ids, record), revision)

    async def _notify_cancel(self, current: VersionedInvocation) -> None:
        """Speed up the cancel; without this, the sweep or a heartbeat of the worker does it."""
        invocation = current.invocation
        try:
            if current.record.is_final:
                await publish_outcome(self._queue, invocation, current.revision)
            else:
                await self._queue.calls.notify_cancelled(
                    invocation.function_name, invocation.invocation_id
                )
        except QueueError as error:
            log.warning(
                "cancel_not_told", extra={"queueError": str(error), **log_fields(invocation)}
            )

    async def _require_redrivable(self, current: VersionedInvocation) -> None:
        record, invocation = current.record, current.invocation
        if not record.is_final:
            raise ConflictError(
                f"the invocation is {record.state}; only a final invocation can be redriven"
            )
        name = record.request.body.object_name
        if name and not await self._queue.bodies.exists(invocation.function_name, name):
            raise ConflictError("the payload has expired; send a new invocation")

    async def _requeue(
        self, previous_record: InvocationRecord, current: VersionedInvocation
    ) -> None:
        """Replace the message of the previous run; a failure is left to the sweep."""
        ids = current.invocation.function_name, current.invocation.invocation_id
        try:
            await self._queue.calls.remove(call_message(*ids, previous_record))
            await self._queue.calls.publish(call_message(*ids, current.record))
        except QueueError as error:
            extra = {"queueError": str(error), **log_fields(current.invocation)}
            log.warning("redrive_left_to_sweep", extra=extra)


def cancel_record(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the record after a cancel; ConflictError if it is final."""
    if record.is_final:
        raise ConflictError(f"the invocation is already {record.state}")
    is_queued = record.state is InvocationState.QUEUED
    return transition.cancelled(record, now) if is_queued else transition.cancelling(record)


def log_fields(invocation: Invocation) -> dict[str, str]:
    """Return the log fields that identify an invocation."""
    return {"function": invocation.function_name, "invocationID": invocation.invocation_id}


async def stream_bytes(data: bytes) -> AsyncIterator[bytes]:
    """Yield the bytes as one chunk; nothing if they are empty."""
    if data:
        yield data
