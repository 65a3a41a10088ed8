"""Takes outcomes from the queue and lets them go once PostgreSQL has them."""

import logging
from collections.abc import Sequence
from typing import Final

import msgspec
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

from controller.runtime.clock import Clock
from serverless.nats.cancellation import heeding_cancellation
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import QueueError, unavailable
from serverless.nats.requests import JetStream, Wire
from serverless.nats.stream_setup import ensure_consumer
from serverless.resultstore.metrics import IntakeMetrics
from serverless.resultstore.row import Row, row
from serverless.resultstore.store import NoStoreError, RefusedRowError, Store
from shared.invocation.message import Outcome, decode_outcome
from shared.invocation.queue_names import QueueNames

CONSUMER: Final = "result-store"
BATCH: Final = 256
WAIT_SECONDS: Final = 5.0
ACK_WAIT_SECONDS: Final = 60
AGAIN_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


def consumer(names: QueueNames) -> Wire:
    """The one consumer that all replicas take from."""
    return {
        "durable_name": CONSUMER,
        "name": CONSUMER,
        "filter_subject": names.result_subject("*"),
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": ACK_WAIT_SECONDS * 1_000_000_000,
        "max_deliver": -1,
        "max_ack_pending": 64 * BATCH,
        "replay_policy": "instant",
    }


class Intake:
    """Moves batches for ever; a batch is tried until it is stored."""

    def __init__(
        self,
        connection: QueueConnection,
        names: QueueNames,
        store: Store,
        metrics: IntakeMetrics,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._names = names
        self._store = store
        self._metrics = metrics
        self._clock = clock

    async def run(self) -> None:
        """Take and store until cancelled; the queue keeps what we do not acknowledge."""
        await self._store.synced()
        while True:
            try:
                wanted = consumer(self._names)
                jetstream = JetStream(self._connection)
                await ensure_consumer(jetstream, self._names.results_stream, wanted)
                await self._move(self._connection.client)
            except QueueError as error:
                log.warning("no_outcomes", extra={"queueError": str(error)})
            await self._clock.sleep(AGAIN_SECONDS)

    async def _move(self, client: Client) -> None:
        try:
            await self._move_from(client)
        except (nats.errors.Error, OSError) as error:
            raise unavailable(error, self._names.results_stream) from error

    async def _move_from(self, client: Client) -> None:
        with heeding_cancellation():
            pulled = await client.jetstream().pull_subscribe_bind(
                CONSUMER, stream=self._names.results_stream
            )
        while client.is_connected:
            with heeding_cancellation():
                messages = await self._fetched(pulled)
                if messages:
                    await self._stored(messages)
        with heeding_cancellation():
            await pulled.unsubscribe()

    async def _fetched(self, pulled: JetStreamContext.PullSubscription) -> list[Msg]:
        try:
            return await pulled.fetch(BATCH, timeout=WAIT_SECONDS)
        except (nats.errors.TimeoutError, nats.js.errors.FetchTimeoutError):
            return []

    async def _stored(self, messages: Sequence[Msg]) -> None:
        """Until they are stored: those that were delivered again meanwhile are the same rows."""
        read = [(each, self._row(each)) for each in messages]
        for each, found in read:
            if found is None:
                await each.term()
        rows = {each.reply: (each, found) for each, found in read if found is not None}
        while rows and not await self._saved([found for _, found in rows.values()]):
            await self._clock.sleep(AGAIN_SECONDS)
        for each, _ in rows.values():
            await each.ack()

    async def _saved(self, rows: Sequence[Row]) -> bool:
        try:
            await self._store.save(rows)
        except NoStoreError:
            self._metrics.failed.inc()
            return False
        except RefusedRowError as error:
            return await self._saved_one_by_one(rows, str(error))
        self._metrics.stored.inc(len(rows))
        return True

    async def _saved_one_by_one(self, rows: Sequence[Row], why: str) -> bool:
        """All but the row that PostgreSQL does not take, which is told and given up."""
        if len(rows) > 1:
            return all([await self._saved([each]) for each in rows])
        self._metrics.refused.inc()
        key = {"requestID": rows[0].request_id, "invocationID": rows[0].invocation_id}
        log.error("outcome_refused", extra={**key, "error": why})
        return True

    def _row(self, message: Msg) -> Row | None:
        try:
            return row(outcome_on(message.subject, message.data, self._names))
        except (msgspec.DecodeError, OverflowError, ValueError) as error:
            self._metrics.refused.inc()
            log.error("outcome_unreadable", extra={"error": str(error)})  # noqa: TRY400 - no bug
            return None


def outcome_on(subject: str, data: bytes, names: QueueNames) -> Outcome:
    """The outcome in a message; ValueError for one of another function than may tell it there."""
    outcome = decode_outcome(data)
    if names.result_subject(outcome.request_id) != subject:
        raise ValueError(f"an outcome of {outcome.request_id!r} was told on {subject}")
    return outcome
