"""One ordinary subscription to the bucket of records wakes all who wait for one."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from apiserver.queue import QueueConnection
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
    """Implements the port Wakes; rejected writes are heard too, so a wake is only a hint."""

    def __init__(self, connection: QueueConnection, names: QueueNames) -> None:
        self._connection = connection
        self._prefix = names.record_subject("")
        self._hints: defaultdict[str, set[Hint]] = defaultdict(set)

    @contextmanager
    def listening(self, key: str) -> Iterator[Hint]:
        """Hear of a key for the length of the block."""
        hint = Hint()
        self._hints[key].add(hint)
        try:
            yield hint
        finally:
            self._hints[key].discard(hint)
            if not self._hints[key]:
                del self._hints[key]

    async def run(self) -> None:
        """Listen for ever; at every new connection all look for themselves."""
        number, client = 0, None
        while True:
            number = await self._connection.after(number)
            if self._connection.client is not client:  # a client renews its own subscriptions
                client = self._connection.client
                await self._subscribe(client)
            for key in tuple(self._hints):
                self._wake(key)

    async def _subscribe(self, client: Client) -> Subscription | None:
        try:
            return await client.subscribe(f"{self._prefix}>", cb=self._heard)
        except nats.errors.Error as error:
            log.warning("queue_subscription_failed", extra={"queueError": str(error)})
            return None  # the connection is gone again, and its successor will be told

    async def _heard(self, message: Msg) -> None:
        self._wake(message.subject.removeprefix(self._prefix))

    def _wake(self, key: str) -> None:
        for hint in self._hints.get(key, ()):
            hint.give()
