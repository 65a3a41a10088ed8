"""JetStream requests of the API that fail, or crash the process, as a test decides."""

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
    """Requests to a real queue; `next_fault` decides the fault of each."""

    def __init__(self, connection: QueueConnection, next_fault: Callable[[], CallFault]) -> None:
        super().__init__(connection, CircuitBreaker(SystemClock()))
        self._next_fault = next_fault
        self._is_dead = False

    async def request(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        """Send a request with the next fault."""
        fault = CallFault.KILLED_BEFORE if self._is_dead else self._next_fault()
        self._is_dead |= fault in (CallFault.KILLED_BEFORE, CallFault.KILLED_AFTER)
        match fault:
            case CallFault.UNREACHABLE:
                raise QueueNotSentError("connection refused")
            case CallFault.TIMEOUT:
                raise QueueTimeoutError("no reply")
            case CallFault.KILLED_BEFORE:
                raise ProcessKilled
        reply = await super().request(subject, payload, headers)
        match fault:
            case CallFault.LOST_ANSWER:
                raise QueueTimeoutError("the reply was lost")
            case CallFault.KILLED_AFTER:
                raise ProcessKilled
        return reply
