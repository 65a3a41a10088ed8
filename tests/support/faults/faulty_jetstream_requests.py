"""A way to the queue on which calls go wrong, or the process dies, where a test says so."""

from collections.abc import Callable, Mapping

from nats.aio.msg import Msg

from apiserver.circuit_breaker import CircuitBreaker
from apiserver.clock import SystemClock
from apiserver.nats.connection import QueueConnection
from apiserver.nats.errors import QueueNotSentError, QueueTimeoutError
from apiserver.nats.requests import JetStreamRequests
from tests.support.faults.faulty_gateway import CallFault, ProcessKilled

REQUEST_FAULTS = (
    CallFault.UNREACHABLE,
    CallFault.TIMEOUT,
    CallFault.LOST_ANSWER,
    CallFault.KILLED_BEFORE,
    CallFault.KILLED_AFTER,
)


class FaultyJetStreamRequests(JetStreamRequests):
    """Asks a real queue; `fault` decides what becomes of a call."""

    def __init__(self, connection: QueueConnection, next_fault: Callable[[], CallFault]) -> None:
        super().__init__(connection, CircuitBreaker(SystemClock()))
        self._next_fault = next_fault
        self._is_dead = False

    async def request(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        """One call, as well as it goes."""
        fault = CallFault.KILLED_BEFORE if self._is_dead else self._next_fault()
        self._is_dead |= fault in (CallFault.KILLED_BEFORE, CallFault.KILLED_AFTER)
        match fault:
            case CallFault.UNREACHABLE:
                raise QueueNotSentError("nobody listens")
            case CallFault.TIMEOUT:
                raise QueueTimeoutError("nobody answers")
            case CallFault.KILLED_BEFORE:
                raise ProcessKilled
        answer = await super().request(subject, payload, headers)
        match fault:
            case CallFault.LOST_ANSWER:
                raise QueueTimeoutError("the answer was lost")
            case CallFault.KILLED_AFTER:
                raise ProcessKilled
        return answer
