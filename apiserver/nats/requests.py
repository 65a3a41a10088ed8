"""One call to JetStream: an answer, a refusal, or silence."""

import asyncio
from collections.abc import Mapping
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from apiserver.cancellation import heeding_cancellation
from apiserver.circuit_breaker import Breaker, Outcome
from apiserver.nats.connection import QueueConnection, reason
from apiserver.nats.errors import (
    QueueError,
    QueueNotAskedError,
    QueueRefusedError,
    QueueTimeoutError,
    StreamAbsentError,
)
from apiserver.nats.replies import A, read
from apiserver.nats.reply_inbox import Inbox

CALL_SECONDS: Final = 5.0


class Caller:
    """Asks while the queue answers, and fails at once while it does not.

    `absence` is set whenever there was no stream for what was asked.
    """

    def __init__(self, connection: QueueConnection, breaker: Breaker) -> None:
        self._connection = connection
        self._breaker = breaker
        self._number = 0
        self._inbox: Inbox | None = None
        self.absence = asyncio.Event()

    @property
    def client(self) -> Client:
        """The connected client; QueueNotAskedError.

        A client without a connection would keep what it is given, and send it much later.
        """
        client = self._connection.client
        if not client.is_connected:
            raise QueueNotAskedError(self._connection.link.error or "not connected")
        return client

    async def answer(
        self,
        kind: type[A],
        subject: str,
        payload: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> A:
        """What JetStream says to a request; QueueError."""
        message = await self.ask(subject, payload, headers)
        try:
            return read(message.data, kind)
        except StreamAbsentError:
            self.absence.set()
            raise

    async def ask(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        """The answer to a request; QueueError."""
        client = self.client
        self._notice_new_connection()
        entry = self._breaker.enter()
        if entry is None:
            raise QueueNotAskedError("the queue does not answer", self._breaker.retry_after)
        outcome = Outcome.UNKNOWN
        try:
            with heeding_cancellation():
                inbox = await self._inbox_of(client)
                answer = await inbox.ask(subject, payload, headers, CALL_SECONDS)
            outcome = Outcome.ANSWERED
        except (nats.errors.Error, OSError, TimeoutError) as error:
            failure = failure_of(error)
            is_answer = isinstance(failure, QueueRefusedError)
            outcome = Outcome.ANSWERED if is_answer else Outcome.FAILED
            if isinstance(failure, StreamAbsentError):
                self.absence.set()
            raise failure from error
        else:
            return answer
        finally:
            self._breaker.leave(entry, outcome)

    async def say(self, subject: str, payload: bytes, reply: str = "") -> None:
        """Send something to whoever listens; QueueError."""
        client = self.client
        try:
            with heeding_cancellation():
                await client.publish(subject, payload, reply)
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise failure_of(error) from error

    async def _inbox_of(self, client: Client) -> Inbox:
        if self._inbox is not None and self._inbox.client is client:
            return self._inbox
        self._inbox = inbox = Inbox(client)
        await inbox.open()
        return inbox

    def _notice_new_connection(self) -> None:
        """A new connection is a sign of life."""
        if self._number != self._connection.number:
            self._number = self._connection.number
            self._breaker.try_now()


def failure_of(error: Exception) -> QueueError:
    """What a failed request says of what was asked."""
    match error:
        case nats.errors.NoRespondersError():
            return StreamAbsentError("nobody there keeps this; is JetStream enabled?")
        case nats.errors.MaxPayloadError():
            return QueueRefusedError("it is larger than the queue takes (max_payload)")
        case TimeoutError():
            return QueueTimeoutError("the queue did not answer in time")
        case _:
            return QueueError(f"the queue broke off: {reason(error)}")
