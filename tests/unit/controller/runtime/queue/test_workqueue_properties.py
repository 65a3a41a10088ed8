"""Properties of the work queue: its guarantees hold for every sequence of calls."""

import asyncio
import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller.runtime.queue.priority import Priority
from controller.runtime.queue.ratelimit import ExponentialBackoff
from controller.runtime.queue.ready_queue import PRIORITY_ROUND
from controller.runtime.queue.workqueue import QueueClosedError, WorkQueue
from tests.support.clocks.virtual_clock import VirtualClock

KEYS = st.sampled_from("abcdefgh")
PRIORITIES = st.sampled_from(Priority)
SECONDS = st.integers(min_value=0, max_value=6)


class Model:
    """Simple model of the queue, with searched lists and compared times."""

    def __init__(self) -> None:
        self.now = 0
        self.closed = False
        self.ready: dict[Priority, list[str]] = {priority: [] for priority in Priority}
        self.again: dict[str, Priority] = {}
        self.running: dict[str, Priority] = {}
        self.delayed: list[tuple[int, str, Priority]] = []
        self.turns_left: dict[str, int] = {}

    def add(self, key: str, priority: Priority) -> None:
        for delay in [delay for delay in self.delayed if delay[1] == key]:
            self.delayed.remove(delay)
            priority = max(priority, delay[2])
        if key in self.running:
            self.again[key] = max(priority, self.again.get(key, priority))
        else:
            self.make_ready(key, priority)

    def make_ready(self, key: str, priority: Priority) -> None:
        old = self.priority_if_ready(key)
        if old is not None and priority <= old:
            return
        if old is not None:
            self.ready[old].remove(key)
        self.ready[priority].append(key)
        self.turns_left[key] = len(self.ready[priority]) * len(PRIORITY_ROUND)

    def priority_if_ready(self, key: str) -> Priority | None:
        return next((priority for priority in Priority if key in self.ready[priority]), None)

    def delay(self, key: str, seconds: int, priority: Priority) -> None:
        if seconds == 0 or key in self.again or self.priority_if_ready(key) is not None:
            self.add(key, priority)
            return
        new = (self.now + seconds, key, priority)
        for known in [delay for delay in self.delayed if delay[1] == key]:
            new = (min(new[0], known[0]), key, max(priority, known[2]))
            if new == known:
                return
            self.delayed.remove(known)
        self.delayed.append(new)

    def move(self, seconds: int) -> None:
        self.now += seconds
        for delay in sorted(self.delayed, key=lambda delay: delay[0]):
            if delay[0] <= self.now:
                self.add(delay[1], delay[2])

    def take(self, key: str) -> None:
        """Check that `key` is the next one, and that no other key waits too long."""
        priority = self.priority_if_ready(key)
        assert priority is not None, "only ready keys are handed out"
        assert self.ready[priority].pop(0) == key, "in order within a class"
        self.running[key] = priority
        for keys in self.ready.values():
            for waiting in keys:
                self.turns_left[waiting] -= 1
                assert self.turns_left[waiting] > 0, (
                    "the nth key of a class is handed out within n rounds"
                )

    def done(self, key: str) -> None:
        del self.running[key]
        if key in self.again:
            self.make_ready(key, self.again.pop(key))


class QueueMachine(RuleBasedStateMachine):
    """State machine that applies each call to a queue and to the model, and compares them."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.queue = WorkQueue(ExponentialBackoff[str](), self.clock)
        self.model = Model()
        self.numbers = itertools.count()
        self.turns: list[bool] = []

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: Priority) -> None:
        self.queue.add(key, priority)
        if not self.model.closed:
            self.model.add(key, priority)

    @rule(key=KEYS, seconds=SECONDS, priority=PRIORITIES)
    def add_after(self, key: str, seconds: int, priority: Priority) -> None:
        self.queue.add_after(key, seconds, priority)
        if not self.model.closed:
            self.model.delay(key, seconds, priority)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: int) -> None:
        self.clock.advance_timers(seconds)
        self.model.move(seconds)

    @precondition(lambda self: any(self.model.ready.values()))
    @rule()
    def get(self) -> None:
        highest = max(priority for priority, keys in self.model.ready.items() if keys)
        key = self.queue.get_nowait()
        assert key not in self.model.running, "never with two workers"
        self.model.take(key)
        assert self.queue.priority(key) is self.model.running[key]
        self.turns = [
            *self.turns[1 - len(PRIORITY_ROUND) :],
            self.model.running[key] is highest,
        ]
        assert self.turns.count(False) <= 2, "the highest class is first, except twice in a round"

    @precondition(lambda self: not self.model.closed)
    @rule(priority=PRIORITIES, count=st.integers(min_value=1, max_value=30))
    def flood(self, priority: Priority, count: int) -> None:
        for _ in range(count):
            self.add(f"flood {next(self.numbers)}", priority)
            self.get()

    @precondition(lambda self: not any(self.model.ready.values()))
    @rule()
    def get_nothing(self) -> None:
        with pytest.raises(QueueClosedError if self.model.closed else asyncio.QueueEmpty):
            self.queue.get_nowait()

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        self.queue.done(key)
        if key in self.model.running:
            self.model.done(key)

    @precondition(lambda self: self.model.now > 20)
    @rule()
    def close(self) -> None:
        self.queue.close()
        self.model.closed = True
        self.model.delayed.clear()

    @invariant()
    def the_number_of_ready_keys_is_equal(self) -> None:
        assert len(self.queue) == sum(map(len, self.model.ready.values()))

    def teardown(self) -> None:
        """Check that no key is lost: each added key is returned in the end."""
        self.time_passes(7)
        while self.model.running or any(self.model.ready.values()):
            for key in list(self.model.running):
                self.done(key)
            if any(self.model.ready.values()):
                self.get()
        self.get_nothing()


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=100, stateful_step_count=50)
