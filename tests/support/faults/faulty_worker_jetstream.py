"""A worker's queue on which the nth call goes wrong, or the worker dies of it."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import TypeVar

from nats.aio.msg import Msg

from serverless.worker.jetstream import Queue
from serverless.worker.jetstream_errors import QueueError
from shared.invocation.queue_names import QueueNames

R = TypeVar("R")


class Fault(Enum):
    """What can happen to one call."""

    NONE = auto()
    UNREACHABLE = auto()  # nothing was sent
    LOST_ANSWER = auto()  # it took effect, and nobody heard of it
    KILLED_BEFORE = auto()
    KILLED_AFTER = auto()


FAULTS = tuple(fault for fault in Fault if fault is not Fault.NONE)


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class FaultyQueue(Queue):
    """Strikes call number `at`; pulls and reports do not count, they come when they come."""

    def __init__(self, names: QueueNames, at: int, fault: Fault) -> None:
        super().__init__(names)
        self._at = at
        self._fault = fault
        self.calls = 0
        self.is_dead = False
        self.has_come = False

    def kill(self) -> None:
        """Die at the next call, whichever it is."""
        self.is_dead = True

    async def answer(self, reply: str, data: bytes) -> None:
        await self._struck(lambda: super(FaultyQueue, self).answer(reply, data))

    async def pull(self, request_id: str, inbox: str, batch: int, seconds: float) -> None:
        self._live()
        await super().pull(request_id, inbox, batch, seconds)

    async def _ask(
        self, subject: str, data: bytes, headers: Mapping[str, str] | None = None
    ) -> Msg:
        if subject.startswith(f"$KV.{self.names.worker_bucket}."):
            self._live()
            return await super()._ask(subject, data, headers)
        return await self._struck(lambda: super(FaultyQueue, self)._ask(subject, data, headers))

    async def _struck(self, call: Callable[[], Awaitable[R]]) -> R:
        self._live()
        self.calls += 1
        is_now = self.calls == self._at
        self.has_come |= is_now
        fault = self._fault if is_now else Fault.NONE
        if fault is Fault.UNREACHABLE:
            raise QueueError("nobody listens")
        if fault is Fault.KILLED_BEFORE:
            self._die()
        done = await call()
        if fault is Fault.LOST_ANSWER:
            raise QueueError("the answer was lost")
        if fault is Fault.KILLED_AFTER:
            self._die()
        self._live()
        return done

    def _die(self) -> None:
        self.is_dead = True
        self._live()

    def _live(self) -> None:
        if self.is_dead:
            raise Killed
