"""One ordinary subscription to the bucket of records wakes all who wait for one."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from apiserver.cancellation import heeding_cancellation
from apiserver.nats.connection import QueueConnection
from shared.invocation.queue_names import QueueNames

log = logging.getLogger(__name__)


class Hint:
    """Implements the port of that name."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def give(self) -> None:
        """Wake whoever waits."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Return at a hint, or after `seconds`; a hint from before counts."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()


class RecordWakes:
    """Implements the port Wakes; rejected writes are heard too, so a wake is only a hint.

    It listens only while somebody waits: every record is on this subject, also those that this
    process has just written.
    """

    def __init__(self, connection: QueueConnection, names: QueueNames) -> None:
        self._connection = connection
        self._prefix = names.record_subject("")
        self._hints: defaultdict[str, set[Hint]] = defaultdict(set)
        self._turn = asyncio.Lock()
        self._client: Client | None = None
        self._subscription: Subscription | None = None

    @asynccontextmanager
    async def listening(self, key: str) -> AsyncIterator[Hint]:
        """Hear of a key for the length of the block."""
        hint = Hint()
        self._hints[key].add(hint)
        try:
            await self._adjust()
            yield hint
        finally:
            self._hints[key].discard(hint)
            if not self._hints[key]:
                del self._hints[key]
            await self._adjust()

    async def run(self) -> None:
        """At every new connection all look for themselves, for ever."""
        number = 0
        while True:
            number = await self._connection.after(number)
            await self._adjust()
            for key in tuple(self._hints):
                self._wake(key)

    async def _adjust(self) -> None:
        """Listen on the client that there is, if anybody waits; who hears nothing looks anyway."""
        async with self._turn:
            try:
                with heeding_cancellation():
                    await self._follow(self._connection.client)
            except nats.errors.Error as error:
                log.warning("queue_subscription_failed", extra={"queueError": str(error)})

    async def _follow(self, client: Client) -> None:
        if self._hints and (self._subscription is None or client is not self._client):
            self._subscription = await client.subscribe(f"{self._prefix}>", cb=self._heard)
            self._client = client  # which renews its own subscriptions
        elif not self._hints and self._subscription is not None:
            subscription, self._subscription = self._subscription, None
            await subscription.unsubscribe()

    async def _heard(self, message: Msg) -> None:
        self._wake(message.subject.removeprefix(self._prefix))

    def _wake(self, key: str) -> None:
        for hint in self._hints.get(key, ()):
            hint.give()
