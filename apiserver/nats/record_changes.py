"""Change signals of records, from one subscription to their bucket."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from apiserver.cancellation import preserve_cancellation
from apiserver.nats.connection import QueueConnection
from shared.invocation.queue_names import QueueNames

log = logging.getLogger(__name__)


class EventChangeSignal:
    """A ChangeSignal on an asyncio event."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """End the current or the next wait."""
        self._event.set()

    async def wait(self, timeout_seconds: float) -> None:
        """Return at a signal, also an earlier one, or after `timeout_seconds`."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()


class JetStreamRecordChanges:
    """The RecordChanges in JetStream; a rejected write signals too, so a signal proves no change.

    The subscription exists only while there are waiters: every written record arrives on this
    subject, also those that this process writes.
    """

    def __init__(self, connection: QueueConnection, names: QueueNames) -> None:
        self._connection = connection
        self._prefix = names.record_subject("")
        self._signals: defaultdict[str, set[EventChangeSignal]] = defaultdict(set)
        self._lock = asyncio.Lock()
        self._client: Client | None = None
        self._subscription: Subscription | None = None

    @asynccontextmanager
    async def subscribe(self, key: str) -> AsyncIterator[EventChangeSignal]:
        """Subscribe to the changes of one record for the length of the block."""
        signal = EventChangeSignal()
        self._signals[key].add(signal)
        try:
            await self._update_subscription()
            yield signal
        finally:
            self._signals[key].discard(signal)
            if not self._signals[key]:
                del self._signals[key]
            await self._update_subscription()

    async def run(self) -> None:
        """Signal all waiters after every new connection, until cancelled."""
        connect_count = 0
        while True:
            connect_count = await self._connection.wait_for_connect(connect_count)
            await self._update_subscription()
            for key in tuple(self._signals):
                self._notify(key)

    async def _update_subscription(self) -> None:
        """Subscribe with the current client if there are waiters; log a failure: waits time out."""
        async with self._lock:
            try:
                with preserve_cancellation():
                    await self._subscribe_if_needed(self._connection.client)
            except nats.errors.Error as error:
                log.warning("queue_subscription_failed", extra={"queueError": str(error)})

    async def _subscribe_if_needed(self, client: Client) -> None:
        if self._signals and (self._subscription is None or client is not self._client):
            self._subscription = await client.subscribe(f"{self._prefix}>", cb=self._on_message)
            self._client = client  # the client renews its own subscriptions
        elif not self._signals and self._subscription is not None:
            subscription, self._subscription = self._subscription, None
            await subscription.unsubscribe()

    async def _on_message(self, message: Msg) -> None:
        self._notify(message.subject.removeprefix(self._prefix))

    def _notify(self, key: str) -> None:
        for signal in self._signals.get(key, ()):
            signal.notify()
