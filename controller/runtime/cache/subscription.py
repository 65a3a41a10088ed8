"""One handler's place in the stream of an informer's notices."""

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

# After this many notices in one go the loop gets its turn.
YIELD_EVERY: Final = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChangeNotification(Generic[T]):
    """A change as handlers see it: `old` None for a new object, `new` None for one that is gone.

    `old` of one that is gone is the last state known here; the server's may have been newer.
    `backlog` marks what is no news: the initial list, a late subscriber's catch-up, a resync.
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
    """Notices in order, one at a time, however slow the handler is; others do not wait for it."""

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
        """How many notices wait."""
        return len(self._pending)

    def send(self, notification: ChangeNotification[T]) -> None:
        """Queue a notice; never waits."""
        self._pending.append(notification)
        self._sent_count += 1
        self._wakeup.set()

    def mark_initial_sent(self) -> None:
        """What was sent so far is the initial state: `synced` waits for the handler to see it."""
        self._initial_count = self._sent_count
        self._check_synced()

    async def synced(self) -> None:
        """Wait until the handler has seen the initial state."""
        await self._synced.wait()

    async def run(self) -> None:
        """Deliver until cancelled; a handler that raises loses that notice and nothing else."""
        while not is_being_cancelled():  # which a handler may have kept to itself
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
            waiting = self._handler(notification)
            if inspect.isawaitable(waiting):
                await waiting
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            self._error_counter.inc()
            log.exception("handler_failed")

    def _check_synced(self) -> None:
        if self._initial_count is not None and self._delivered_count >= self._initial_count:
            self._synced.set()
