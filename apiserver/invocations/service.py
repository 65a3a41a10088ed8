"""Invocations after they were accepted: looked at, cancelled and sent again."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from msgspec.structs import replace

from apiserver.clock import Clock
from apiserver.errors import ConflictError, NotFoundError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.accept import Ingress
from apiserver.invocations.archive_reader import ArchiveLists
from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.publish_outcome import Settlement
from apiserver.invocations.submission import Acceptance, Submission
from apiserver.invocations.wait import Waiting
from apiserver.nats.errors import QueueError, RecordStaleError
from apiserver.nats.port import Queue
from apiserver.timestamps import milliseconds
from shared.invocation import transition
from shared.invocation.message import call_of
from shared.invocation.queue_names import record_key
from shared.invocation.record import Record
from shared.invocation.state import State

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """An invocation and the revision at which it was read."""

    invocation: Invocation
    revision: int

    @property
    def record(self) -> Record:
        """Its record."""
        return self.invocation.record


@dataclass(frozen=True, slots=True)
class BodyOf:
    """The body of a result, which is read piece by piece."""

    content_type: str
    size: int
    chunks: AsyncIterator[bytes]


class InvocationService:
    """The use cases of invocations."""

    def __init__(
        self,
        queue: Queue,
        ingress: Ingress,
        functions: FunctionLookup,
        metrics: InvocationMetrics,
        clock: Clock,
        archive: ArchiveLists | None = None,
    ) -> None:
        self._queue = queue
        self._ingress = ingress
        self._functions = functions
        self._metrics = metrics
        self._clock = clock
        self._archive = archive
        self._waiting = Waiting(queue)
        self._settlement = Settlement(queue)

    async def receive(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        """Take in a payload; NotFoundError, ConflictError, QueueFullError."""
        return await self._ingress.receive(command, chunks)

    async def accept(self, submission: Submission) -> Acceptance:
        """Accept an invocation; ConflictError, QueueFullError, UnknownOutcomeError."""
        return await self._ingress.accept(submission)

    async def get(self, request_id: str, invocation_id: str) -> Invocation:
        """The invocation as it is now, or as the archive has it; NotFoundError."""
        try:
            return (await self._seen(request_id, invocation_id)).invocation
        except NotFoundError:
            if self._archive is None:
                raise
            function = await self._functions.find(request_id)
            found = await self._archive.find(function.metadata.uid, invocation_id)
            if found is None:
                raise
            return Invocation(request_id, invocation_id, found.record)

    async def wait_final(self, invocation: Invocation, seconds: float) -> Invocation:
        """The invocation once it is final, or as it is after `seconds`."""
        return await self._waiting.final(invocation, seconds)

    async def cancel(self, request_id: str, invocation_id: str) -> Invocation:
        """End a queued invocation, or ask the worker of a running one to; ConflictError."""
        while True:
            seen = await self._seen(request_id, invocation_id)
            if seen.record.state is State.CANCELLING:
                return seen.invocation
            changed = given_up(seen.record, milliseconds(self._clock))
            try:
                written = await self._write(seen, changed)
            except RecordStaleError:
                continue
            if changed.is_final:
                self._metrics.finished(request_id, changed.state)
            await self._tell_of_cancel(written)
            return written.invocation

    async def redrive(self, request_id: str, invocation_id: str) -> Invocation:
        """Begin a new run of a final invocation; ConflictError."""
        await self._functions.accepting(request_id)
        while True:
            seen = await self._seen(request_id, invocation_id)
            await self._require_redrivable(seen)
            try:
                settled = await self._settlement.settle(seen.invocation, seen.revision)
                again = transition.redriven(seen.record, milliseconds(self._clock))
                again = replace(again, request=await self._ingress.within_room(again.request))
                written = await self._write(Seen(seen.invocation, settled.revision), again)
            except RecordStaleError:
                continue
            await self._queue_again(seen.record, written)
            return written.invocation

    async def body(self, request_id: str, invocation_id: str) -> BodyOf:
        """The body of the result; NotFoundError where there is none."""
        record = (await self.get(request_id, invocation_id)).record
        if record.result is None:
            raise NotFoundError(f"the invocation is {record.state}: it has no result yet")
        body = record.result.body
        chunks = once(body.inline)
        if body.object_name:
            if not await self._queue.bodies.has(request_id, body.object_name):
                raise NotFoundError("the body of the result is no longer kept")
            chunks = self._queue.bodies.get(request_id, body.object_name)
        return BodyOf(record.result.content_type, body.size or len(body.inline), chunks)

    async def _seen(self, request_id: str, invocation_id: str) -> Seen:
        """A record of another function of this name counts as absent."""
        function = await self._functions.find(request_id)
        kept = await self._queue.records.find(record_key(request_id, invocation_id))
        record = kept.record if kept else None
        if kept is None or record is None or record.function_uid != function.metadata.uid:
            raise NotFoundError(f"there is no invocation {invocation_id!r} of {request_id!r}")
        return Seen(Invocation(request_id, invocation_id, record), kept.revision)

    async def _write(self, seen: Seen, record: Record) -> Seen:
        ids = seen.invocation.request_id, seen.invocation.invocation_id
        revision = await self._queue.records.write(record_key(*ids), record, seen.revision)
        return Seen(Invocation(*ids, record), revision)

    async def _tell_of_cancel(self, seen: Seen) -> None:
        """Hurry things up; the sweep and the workers' heartbeats would see to them anyway."""
        invocation = seen.invocation
        try:
            if seen.record.is_final:
                await self._settlement.settle(invocation, seen.revision)
            else:
                await self._queue.calls.nudge(invocation.request_id, invocation.invocation_id)
        except QueueError as error:
            log.warning("cancel_not_told", extra={"queueError": str(error), **fields(invocation)})

    async def _require_redrivable(self, seen: Seen) -> None:
        record, invocation = seen.record, seen.invocation
        if not record.is_final:
            raise ConflictError(f"the invocation is {record.state}; only a final one is redriven")
        name = record.request.body.object_name
        if name and not await self._queue.bodies.has(invocation.request_id, name):
            raise ConflictError("the payload is no longer kept; send it as a new invocation")

    async def _queue_again(self, before: Record, seen: Seen) -> None:
        """The message of the run before may still be there; what fails is left to the sweep."""
        ids = seen.invocation.request_id, seen.invocation.invocation_id
        try:
            await self._queue.calls.withdraw(call_of(*ids, before))
            await self._queue.calls.publish(call_of(*ids, seen.record))
        except QueueError as error:
            extra = {"queueError": str(error), **fields(seen.invocation)}
            log.warning("redrive_left_to_sweep", extra=extra)


def given_up(record: Record, now: int) -> Record:
    """What a cancel makes of a record; ConflictError where it has ended."""
    if record.is_final:
        raise ConflictError(f"the invocation is already {record.state}")
    is_queued = record.state is State.QUEUED
    return transition.cancelled(record, now) if is_queued else transition.cancelling(record)


def fields(invocation: Invocation) -> dict[str, str]:
    """What a log line says of an invocation."""
    return {"function": invocation.request_id, "invocationID": invocation.invocation_id}


async def once(data: bytes) -> AsyncIterator[bytes]:
    """Bytes at hand as if they were streamed."""
    if data:
        yield data
