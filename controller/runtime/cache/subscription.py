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
IN_ONE_GO: Final = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Notice(Generic[T]):
    """A change as handlers see it: `old` None for a new object, `new` None for one that is gone.

    `old` of one that is gone is the last state known here; the server's may have been newer.
    `backlog` marks what is no news: the initial list, a late subscriber's catch-up, a resync.
    """

    old: T | None
    new: T | None
    backlog: bool = False


Handler = Callable[[Notice[T]], Awaitable[None] | None]


class Subscription(Generic[T]):
    """Notices in order, one at a time, however slow the handler is; others do not wait for it."""

    def __init__(self, handler: Handler[T], errors: Counter) -> None:
        self._handler = handler
        self._errors = errors
        self._pending: deque[Notice[T]] = deque()
        self._news = asyncio.Event()
        self._sent = 0
        self._seen = 0
        self._initial: int | None = None
        self._caught_up = asyncio.Event()

    def __len__(self) -> int:
        """How many notices wait."""
        return len(self._pending)

    def send(self, notice: Notice[T]) -> None:
        """Queue a notice; never waits."""
        self._pending.append(notice)
        self._sent += 1
        self._news.set()

    def mark_caught_up(self) -> None:
        """What was sent so far is the initial state: `synced` waits for the handler to see it."""
        self._initial = self._sent
        self._note_progress()

    async def synced(self) -> None:
        """Wait until the handler has seen the initial state."""
        await self._caught_up.wait()

    async def run(self) -> None:
        """Deliver until cancelled; a handler that raises loses that notice and nothing else."""
        while not is_being_cancelled():  # which a handler may have kept to itself
            if not self._pending:
                self._news.clear()
                await self._news.wait()
                continue
            await self._deliver(self._pending.popleft())
            self._seen += 1
            self._note_progress()
            if self._seen % IN_ONE_GO == 0:
                await asyncio.sleep(0)

    async def _deliver(self, notice: Notice[T]) -> None:
        try:
            waiting = self._handler(notice)
            if inspect.isawaitable(waiting):
                await waiting
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            self._errors.inc()
            log.exception("handler_failed")

    def _note_progress(self) -> None:
        if self._initial is not None and self._seen >= self._initial:
            self._caught_up.set()
