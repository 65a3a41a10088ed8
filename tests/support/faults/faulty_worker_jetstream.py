"""A worker's JetStream client whose nth call fails or crashes the worker."""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import TypeVar

from nats.aio.msg import Msg

from serverless.nats.connection import QueueConnection
from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStreamClient
from shared.invocation.queue_names import QueueNames

R = TypeVar("R")


class QueueFault(Enum):
    """The fault of one call."""

    NONE = auto()
    UNREACHABLE = auto()  # nothing was sent
    LOST_ANSWER = auto()  # it took effect, and the reply was lost
    KILLED_BEFORE = auto()
    KILLED_AFTER = auto()


QUEUE_FAULTS = tuple(fault for fault in QueueFault if fault is not QueueFault.NONE)


class WorkerKilled(BaseException):
    """The worker has crashed, and none of its tasks runs."""


class FaultyWorkerJetStream(JetStreamClient):
    """A client with a fault at one call; pulls and reports do not count, as their order varies."""

    def __init__(self, names: QueueNames, fault_at_call: int, fault: QueueFault) -> None:
        self._worker_bucket = names.worker_bucket
        self._fault_at_call = fault_at_call
        self._fault = fault
        self.calls = 0
        self.is_dead = False
        self.was_injected = False

    def connect_to(self, connection: QueueConnection) -> "FaultyWorkerJetStream":
        """Send the requests of one worker."""
        super().__init__(connection)
        return self

    def kill(self) -> None:
        """Crash at the next call."""
        self.is_dead = True

    async def acknowledge(self, reply: str, ack: bytes) -> None:
        await self._with_fault(lambda: super(FaultyWorkerJetStream, self).acknowledge(reply, ack))

    async def pull(
        self, stream: str, consumer: str, inbox: str, batch: int, expires_seconds: float
    ) -> None:
        self._check_alive()
        await super().pull(stream, consumer, inbox, batch, expires_seconds)

    async def _request(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> Msg:
        if subject.startswith(f"$KV.{self._worker_bucket}."):
            self._check_alive()
            return await super()._request(subject, data, headers)
        return await self._with_fault(
            lambda: super(FaultyWorkerJetStream, self)._request(subject, data, headers)
        )

    async def _with_fault(self, call: Callable[[], Awaitable[R]]) -> R:
        self._check_alive()
        self.calls += 1
        is_now = self.calls == self._fault_at_call
        self.was_injected |= is_now
        fault = self._fault if is_now else QueueFault.NONE
        if fault is QueueFault.UNREACHABLE:
            raise QueueError("connection refused")
        if fault is QueueFault.KILLED_BEFORE:
            self._die()
        result = await call()
        if fault is QueueFault.LOST_ANSWER:
            raise QueueError("the reply was lost")
        if fault is QueueFault.KILLED_AFTER:
            self._die()
        self._check_alive()
        return result

    def _die(self) -> None:
        self.is_dead = True
        self._check_alive()

    def _check_alive(self) -> None:
        if self.is_dead:
            raise WorkerKilled
