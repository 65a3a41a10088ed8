"""Consumes outcomes from NATS and acknowledges them once PostgreSQL has stored them."""

import logging
from collections.abc import Sequence
from typing import Final

import msgspec
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

from controller.runtime import Clock
from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import QueueError, request_error_of
from serverless.nats.requests import JetStreamClient, JsonObject
from serverless.nats.stream_setup import ensure_consumer
from serverless.resultstore.metrics import OutcomeMetrics
from serverless.resultstore.row import OutcomeRow, outcome_row_of
from serverless.resultstore.store import InvalidRowError, OutcomeStore, StoreUnavailableError
from shared.invocation.message import OutcomeMessage, decode_outcome
from shared.invocation.queue_names import QueueNames

CONSUMER_NAME: Final = "result-store"
MAX_BATCH: Final = 256
FETCH_TIMEOUT_SECONDS: Final = 5.0
ACK_WAIT_SECONDS: Final = 60
RETRY_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


def consumer_config(queue_names: QueueNames) -> JsonObject:
    """Return the configuration of the consumer that all replicas share."""
    return {
        "durable_name": CONSUMER_NAME,
        "name": CONSUMER_NAME,
        "filter_subject": queue_names.result_subject("*"),
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": ACK_WAIT_SECONDS * 1_000_000_000,
        "max_deliver": -1,
        "max_ack_pending": 64 * MAX_BATCH,
        "replay_policy": "instant",
    }


class OutcomeConsumer:
    """Stores outcomes in batches; a batch is retried until it is stored."""

    def __init__(
        self,
        connection: QueueConnection,
        queue_names: QueueNames,
        store: OutcomeStore,
        metrics: OutcomeMetrics,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._queue_names = queue_names
        self._store = store
        self._metrics = metrics
        self._clock = clock

    async def run(self) -> None:
        """Consume until cancelled; NATS keeps what is not acknowledged."""
        await self._store.synced()
        while True:
            try:
                config = consumer_config(self._queue_names)
                jetstream = JetStreamClient(self._connection)
                await ensure_consumer(jetstream, self._queue_names.results_stream, config)
                await self._consume(self._connection.client)
            except QueueError as error:
                log.warning("no_outcomes", extra={"queueError": str(error)})
            await self._clock.sleep(RETRY_SECONDS)

    async def _consume(self, client: Client) -> None:
        try:
            await self._consume_from(client)
        except (nats.errors.Error, OSError) as error:
            raise request_error_of(error, self._queue_names.results_stream) from error

    async def _consume_from(self, client: Client) -> None:
        with preserve_cancellation():
            subscription = await client.jetstream().pull_subscribe_bind(
                CONSUMER_NAME, stream=self._queue_names.results_stream
            )
        while client.is_connected:
            with preserve_cancellation():
                messages = await self._fetch(subscription)
                if messages:
                    await self._store_messages(messages)
        with preserve_cancellation():
            await subscription.unsubscribe()

    async def _fetch(self, subscription: JetStreamContext.PullSubscription) -> list[Msg]:
        try:
            return await subscription.fetch(MAX_BATCH, timeout=FETCH_TIMEOUT_SECONDS)
        except (nats.errors.TimeoutError, nats.js.errors.FetchTimeoutError):
            return []

    async def _store_messages(self, messages: Sequence[Msg]) -> None:
        """Retry until all are stored; messages that are redelivered meanwhile give equal rows."""
        parsed = [(message, self._parse_row(message)) for message in messages]
        for message, row in parsed:
            if row is None:
                await message.term()
        rows = {message.reply: (message, row) for message, row in parsed if row is not None}
        while rows and not await self._save([row for _, row in rows.values()]):
            await self._clock.sleep(RETRY_SECONDS)
        for message, _ in rows.values():
            await message.ack()

    async def _save(self, rows: Sequence[OutcomeRow]) -> bool:
        try:
            await self._store.save(rows)
        except StoreUnavailableError:
            self._metrics.failed.inc()
            return False
        except InvalidRowError as error:
            return await self._save_one_by_one(rows, str(error))
        self._metrics.stored.inc(len(rows))
        return True

    async def _save_one_by_one(self, rows: Sequence[OutcomeRow], reason: str) -> bool:
        """Save all rows except those that PostgreSQL refuses, which are logged and dropped."""
        if len(rows) > 1:
            return all([await self._save([row]) for row in rows])
        self._metrics.refused.inc()
        fields = {"function": rows[0].request_id, "invocationID": rows[0].invocation_id}
        log.error("outcome_refused", extra={**fields, "error": reason})
        return True

    def _parse_row(self, message: Msg) -> OutcomeRow | None:
        try:
            return outcome_row_of(
                decode_outcome_on(message.subject, message.data, self._queue_names)
            )
        except (msgspec.DecodeError, OverflowError, ValueError) as error:
            self._metrics.refused.inc()
            log.error("outcome_unreadable", extra={"error": str(error)})  # noqa: TRY400 - no bug
            return None


def decode_outcome_on(subject: str, data: bytes, queue_names: QueueNames) -> OutcomeMessage:
    """Return the outcome of a message; raises ValueError if it is of another subject."""
    outcome = decode_outcome(data)
    if queue_names.result_subject(outcome.function_name) != subject:
        raise ValueError(f"an outcome of {outcome.function_name!r} was published on {subject}")
    return outcome
