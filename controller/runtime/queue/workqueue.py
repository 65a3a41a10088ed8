"""The work queue: one worker per key at a time, priorities, delays, no key lost."""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from controller.runtime.clock import Timer, TimerClock
from controller.runtime.queue.delay_queue import DelayQueue
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.ratelimit import RateLimiter
from controller.runtime.queue.ready_queue import ReadyQueue

K = TypeVar("K", bound=Hashable)


class QueueObserver(Protocol):
    """Receives the events of a queue; its methods are called synchronously."""

    def added(self, key: Hashable, priority: Priority) -> None:
        """Called when a key that was not in the queue is added."""
        ...

    def priority_raised(self, old: Priority, new: Priority) -> None:
        """Called when a key that waits gets a higher priority."""
        ...

    def handed_out(self, key: Hashable, priority: Priority) -> None:
        """Called when a worker gets the key."""
        ...

    def finished(self, key: Hashable) -> None:
        """Called when a worker returns the key."""
        ...

    def delayed(self) -> None:
        """Called when a key is added with a delay."""
        ...


class QueueClosedError(Exception):
    """The queue is closed, and all ready keys have been handed out."""


class WorkQueue(Generic[K]):
    """The queue of client-go with the priorities of controller-runtime, for one event loop.

    At most one worker has a key. A key that is added meanwhile becomes ready again after
    `done`. `add` cancels a pending delay of the key.
    """

    def __init__(
        self, limiter: RateLimiter[K], clock: TimerClock, observer: QueueObserver | None = None
    ) -> None:
        self._limiter = limiter
        self._clock = clock
        self._observer = observer
        self._dirty: dict[K, Priority] = {}  # ready, or ready again after `done`
        self._processing: dict[K, Priority] = {}
        self._ready = ReadyQueue[K]()
        self._delayed = DelayQueue[K]()
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._getters: deque[asyncio.Future[K]] = deque()  # empty while a key is ready
        self._closed = False
        self._all_done = asyncio.Event()

    def add(self, key: K, priority: Priority = Priority.CHANGED) -> None:
        """Make `key` ready; no effect if it is ready already."""
        if self._closed:
            return
        if self._timer is not None and (delayed := self._delayed.cancel(key)) is not None:
            priority = max(priority, delayed)
        self._enqueue(key, priority)

    def add_after(self, key: K, seconds: float, priority: Priority = Priority.CHANGED) -> None:
        """Make `key` ready after `seconds`, or earlier if an earlier call says so."""
        if self._closed:
            return
        if self._observer is not None and seconds > 0:
            self._observer.delayed()
        if seconds <= 0 or key in self._dirty:
            self.add(key, priority)
            return
        self._delayed.put(key, self._clock.monotonic() + seconds, priority)
        self._set_timer()

    def add_rate_limited(self, key: K, priority: Priority = Priority.CHANGED) -> None:
        """Count a failure of `key`, and make it ready when the limiter allows it."""
        self.add_after(key, self._limiter.when(key), priority)

    def forget(self, key: K) -> None:
        """Reset the back-off of `key`; a pending delay is not changed."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return how often `key` was rate limited since it was forgotten."""
        return self._limiter.failures(key)

    async def get(self) -> K:
        """Wait for the next key, which must be returned with `done`; first come, first served."""
        if (key := self._ready.pop()) is not None:
            # Inlined `_hand_out`: the call alone is 5 % of the time of get and done.
            priority = self._processing[key] = self._dirty.pop(key)
            if self._observer is not None:
                self._observer.handed_out(key, priority)
            return key
        if self._closed:
            raise QueueClosedError
        getter: asyncio.Future[K] = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            return await getter
        except asyncio.CancelledError:
            self._return_unseen(getter)
            raise

    def get_nowait(self) -> K:
        """Return the next key; asyncio.QueueEmpty if none is ready."""
        if (key := self._ready.pop()) is not None:
            return self._hand_out(key)
        raise QueueClosedError if self._closed else asyncio.QueueEmpty

    def priority(self, key: K) -> Priority:
        """Return the priority of a key that a worker has."""
        return self._processing[key]

    def done(self, key: K) -> None:
        """Return `key`; if it was added meanwhile, it becomes ready again."""
        if self._processing.pop(key, None) is None:
            return
        if self._observer is not None:
            self._observer.finished(key)
        priority = self._dirty.get(key)
        if priority is not None and not (self._getters and self._hand_to_getter(key)):
            self._ready.push(key, priority)
        if self._closed and not self._processing:
            self._all_done.set()

    def close(self) -> None:
        """Accept no more keys and drop the delayed ones; ready keys are still handed out."""
        self._closed = True
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_exception(QueueClosedError())

    async def drain(self) -> None:
        """Close, and wait until the workers have returned all keys."""
        self.close()
        while self._processing:
            self._all_done.clear()
            await self._all_done.wait()

    def __len__(self) -> int:
        """Return the number of ready keys: neither delayed nor with a worker."""
        return len(self._ready)

    def _enqueue(self, key: K, priority: Priority) -> None:
        known = self._dirty.get(key)
        if known is not None:
            if priority > known:
                self._raise_priority(key, known, priority)
            return
        self._dirty[key] = priority
        if self._observer is not None:
            self._observer.added(key, priority)
        if key in self._processing:
            return  # `done` makes it ready
        if not (self._getters and self._hand_to_getter(key)):
            self._ready.push(key, priority)

    def _raise_priority(self, key: K, old: Priority, new: Priority) -> None:
        self._dirty[key] = new
        if self._observer is not None:
            self._observer.priority_raised(old, new)
        if key not in self._processing:
            self._ready.move(key, old, new)

    def _hand_to_getter(self, key: K) -> bool:
        """Hand `key` to the getter that waits longest; False if none waits."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():  # else it was cancelled, and will remove itself
                getter.set_result(self._hand_out(key))
                return True
        return False

    def _hand_out(self, key: K) -> K:
        priority = self._processing[key] = self._dirty.pop(key)
        if self._observer is not None:
            self._observer.handed_out(key, priority)
        return key

    def _return_unseen(self, getter: asyncio.Future[K]) -> None:
        """Make the key of a cancelled getter ready again, also after a close."""
        if getter.cancelled():
            if getter in self._getters:
                self._getters.remove(getter)
        elif getter.exception() is None:
            key = getter.result()
            self._enqueue(key, self._processing[key])
            self.done(key)

    def _set_timer(self) -> None:
        at = self._delayed.next_due_at()
        if self._timer is not None:
            if at is None or self._timer_at <= at:
                return  # a timer that fires too early is set again
            self._timer.cancel()
        if at is not None:
            self._timer_at = at
            self._timer = self._clock.call_at(at, self._enqueue_due)

    def _enqueue_due(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        while (delay := self._delayed.pop_due(now)) is not None:
            self.add(delay.key, delay.priority)
        self._set_timer()
