"""A way to the queue on which calls go wrong, or the process dies, where a test says so."""

from collections.abc import Callable, Mapping

from nats.aio.msg import Msg

from apiserver.circuit_breaker import Breaker
from apiserver.clock import SystemClock
from apiserver.nats.connection import QueueConnection
from apiserver.nats.errors import QueueNotAskedError, QueueTimeoutError
from apiserver.nats.requests import Caller
from tests.support.faults.faulty_gateway import Fault, Killed

FAULTS = (
    Fault.UNREACHABLE,
    Fault.TIMEOUT,
    Fault.LOST_ANSWER,
    Fault.KILLED_BEFORE,
    Fault.KILLED_AFTER,
)


class FaultyCaller(Caller):
    """Asks a real queue; `fault` decides what becomes of a call."""

    def __init__(self, connection: QueueConnection, fault: Callable[[], Fault]) -> None:
        super().__init__(connection, Breaker(SystemClock()))
        self._fault = fault
        self._is_dead = False

    async def ask(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        """One call, as well as it goes."""
        fault = Fault.KILLED_BEFORE if self._is_dead else self._fault()
        self._is_dead |= fault in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER)
        match fault:
            case Fault.UNREACHABLE:
                raise QueueNotAskedError("nobody listens")
            case Fault.TIMEOUT:
                raise QueueTimeoutError("nobody answers")
            case Fault.KILLED_BEFORE:
                raise Killed
        answer = await super().ask(subject, payload, headers)
        match fault:
            case Fault.LOST_ANSWER:
                raise QueueTimeoutError("the answer was lost")
            case Fault.KILLED_AFTER:
                raise Killed
        return answer
