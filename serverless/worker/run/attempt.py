"""One attempt: the framework is called, and whatever it says is recorded."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace as changed

from serverless.worker.clock import Clock
from serverless.worker.consume.decision import deadline
from serverless.worker.delivery import Delivery, refused
from serverless.worker.framework.health import FrameworkWatch
from serverless.worker.framework.request import request_headers
from serverless.worker.framework.result import BodyLost, Gone, Heard, Late, Unwanted
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.jetstream_errors import NoRoomError, QueueError
from serverless.worker.memory_budget import Memories
from serverless.worker.run.body_store import Bodies, BodyLostError
from serverless.worker.run.finish import Outlet
from serverless.worker.run.heartbeat import Pulse, SupersededError, is_same_attempt
from serverless.worker.run.record_store import (
    OvertakenError,
    Records,
    Stored,
    UnreadableRecordError,
)
from serverless.worker.run.result_policy import Again, Outcome, verdict
from shared.invocation import transition
from shared.invocation.queue_names import ids_of, result_object
from shared.invocation.record import Body
from shared.invocation.state import State

NOTHING: Final = 0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workplace:
    """What every attempt of a worker works with."""

    queue: Queue
    records: Records
    bodies: Bodies
    framework: FrameworkWatch
    memories: Memories
    outlet: Outlet
    clock: Clock
    pace: Pace


class Attempt:
    """Runs one message, ours `since` then, whose record is `running` by us as we hold it."""

    def __init__(self, place: Workplace, given: Delivery, held: Stored, since: float) -> None:
        self._place = place
        self._since = since
        self._given = given
        self._held = held
        self._pulse = Pulse(place.queue, place.records, given, held, place.pace)
        self._hold = place.memories.hold()
        self._call: asyncio.Task[Heard] | None = None
        self._broken_off: Heard | None = None

    def nudge(self) -> None:
        """Look at the record now: it may be cancelled."""
        self._pulse.nudge()

    def abandon(self) -> None:
        """Break off, and leave the run to another attempt."""
        self._break_off(Gone("the worker was stopped"))

    async def run(self) -> None:
        """To the outcome, or to the moment when it is no longer ours; then nothing is said."""
        try:
            async with asyncio.TaskGroup() as group:
                pulse = group.create_task(self._pulse.run(self._cancel))
                self._call = group.create_task(self._hear())
                await self._conclude(await self._heard(self._call))
                pulse.cancel()
        except* (OvertakenError, SupersededError, UnreadableRecordError):
            log.warning("attempt_superseded", extra={"attempt": self._held.record.attempts})
        except* QueueError as errors:
            log.warning("left_alone", extra={"reason": str(errors.exceptions[0])})
        finally:
            self._hold.give_back()

    def _cancel(self) -> None:
        self._break_off(Unwanted())

    async def _hear(self) -> Heard:
        record = self._held.record
        try:
            body = await self._payload(record.request.body)
        except BodyLostError:
            return BodyLost()
        except QueueError as error:
            return Gone(f"the payload cannot be read ({error})")
        await self._pulse.assure(self._since, self._cancel)
        headers = request_headers(self._held.key, record)
        return await self._place.framework.invoke(headers, body, self._hold)

    async def _payload(self, body: Body) -> bytes | bytearray:
        if body.object_name:
            await self._hold.payload.take(body.size)
        return await self._place.bodies.fetch(body)

    async def _heard(self, call: asyncio.Task[Heard]) -> Heard:
        if self._broken_off:
            call.cancel()
        seconds = max(0, deadline(self._held.record) - self._place.clock.now()) / 1000
        await asyncio.wait({call}, timeout=seconds)
        if not call.done():
            self._break_off(Late())
            await asyncio.wait({call})
        return self._broken_off if call.cancelled() and self._broken_off else call.result()

    def _break_off(self, why: Heard) -> None:
        self._broken_off = self._broken_off or why
        if self._call:
            self._call.cancel()

    async def _conclude(self, heard: Heard) -> None:
        match verdict(self._held.record, heard, self._place.clock.now()):
            case Outcome() as outcome:
                await self._finish(outcome)
            case Again(why):
                await self._release(why)

    async def _finish(self, outcome: Outcome) -> None:
        body = await self._kept(outcome.body, self._held.record.request.inline_bytes)
        self._pulse.judge_no_more()
        try:
            try:
                await self._settle(outcome, body)
            except NoRoomError:
                await self._settle(outcome, await self._kept(outcome.body, NOTHING))
        except OvertakenError as error:
            await self._cancelled(error)

    async def _settle(self, outcome: Outcome, body: Body) -> None:
        result, now = changed(outcome.result, body=body), self._place.clock.now()
        final = transition.finished(self._held.record, outcome.state, result, now)
        await self._place.outlet.settle(self._given, self._held, final)

    async def _kept(self, body: bytes | bytearray, inline_bytes: int) -> Body:
        """Until it is kept: the work is done, and its run is ours while we say so."""
        record, (_, invocation_id) = self._held.record, ids_of(self._held.key)
        name = result_object(record.function_uid, invocation_id, record.run, record.attempts)
        tries = 0
        while True:
            try:
                return await self._place.bodies.keep(name, body, inline_bytes)
            except QueueError as error:
                tries += 1
                log.warning("result_not_kept", extra={"tries": tries, "reason": str(error)})
                await asyncio.sleep(self._place.pace.again_in(tries))

    async def _release(self, why: str) -> None:
        record = self._held.record
        self._pulse.judge_no_more()
        log.warning("attempt_failed", extra={"attempt": record.attempts, "reason": why})
        try:
            await self._place.records.change(self._held, transition.released(record))
        except OvertakenError as error:
            await self._cancelled(error)
            return
        delay = refused(self._place.pace.again_in(record.attempts))
        await self._place.queue.answer(self._given.reply, delay)

    async def _cancelled(self, error: OvertakenError) -> None:
        """End as cancelled, if that is what came in between; otherwise it is not ours."""
        found = error.found
        if found is None or not is_same_attempt(self._held.record, found.record):
            raise error
        if found.record.state is not State.CANCELLING:
            raise error
        final = transition.cancelled(found.record, self._place.clock.now())
        await self._place.outlet.settle(self._given, found, final)
