"""The delivery of an informer's notifications to one handler."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from prometheus_client import Counter

from controller.runtime.cancellation import is_being_cancelled
from controller.runtime.client.objects import Object

T = TypeVar("T", bound=Object)

# Other tasks run after this many notifications.
YIELD_EVERY: Final = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChangeNotification(Generic[T]):
    """A change: `old` is None for a new object, `new` is None for a deleted one.

    `old` of a deleted object is its last known state; the server may have had a newer one.
    `is_backlog` is true for the initial list, for a late subscriber, and for a resync.
    """

    old: T | None
    new: T | None
    is_backlog: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty for a kind without namespaces."""
        state = self.old if self.new is None else self.new
        return "" if state is None else state.metadata.namespace


ChangeHandler = Callable[[ChangeNotification[T]], Awaitable[None] | None]


class Subscription(Generic[T]):
    """Delivers notifications in order, one at a time; a slow handler delays no other one."""

    def __init__(self, handler: ChangeHandler[T], error_counter: Counter) -> None:
        self._handler = handler
        self._error_counter = error_counter
        self._pending: deque[ChangeNotification[T]] = deque()
        self._wakeup = asyncio.Event()
        self._sent_count = 0
        self._delivered_count = 0
        self._initial_count: int | None = None
        self._synced = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of pending notifications."""
        return len(self._pending)

    def send(self, notification: ChangeNotification[T]) -> None:
        """Queue a notification without waiting."""
        self._pending.append(notification)
        self._sent_count += 1
        self._wakeup.set()

    def mark_initial_sent(self) -> None:
        """Mark all notifications so far as the initial state, for which `synced` waits."""
        self._initial_count = self._sent_count
        self._check_synced()

    async def synced(self) -> None:
        """Wait until the handler has received the initial state."""
        await self._synced.wait()

    async def run(self) -> None:
        """Deliver until cancelled; a handler that raises loses that notification only."""
        while not is_being_cancelled():  # a handler may have swallowed the cancellation
            if not self._pending:
                self._wakeup.clear()
                await self._wakeup.wait()
                continue
            await self._deliver(self._pending.popleft())
            self._delivered_count += 1
            self._check_synced()
            if self._delivered_count % YIELD_EVERY == 0:
                await asyncio.sleep(0)

    async def _deliver(self, notification: ChangeNotification[T]) -> None:
        try:
            result = self._handler(notification)
            if inspect.isawaitable(result):
                await result
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            self._error_counter.inc()
            log.exception("handler_failed")

    def _check_synced(self) -> None:
        if self._initial_count is not None and self._delivered_count >= self._initial_count:
            self._synced.set()
