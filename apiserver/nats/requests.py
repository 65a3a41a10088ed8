"""One call to JetStream: an answer, a refusal, or silence."""

import asyncio
from collections.abc import Mapping
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from apiserver.cancellation import preserve_cancellation
from apiserver.circuit_breaker import CallResult, CircuitBreaker
from apiserver.nats.connection import QueueConnection, describe_error
from apiserver.nats.errors import (
    QueueError,
    QueueNotSentError,
    QueueRejectedError,
    QueueTimeoutError,
    StreamNotFoundError,
)
from apiserver.nats.replies import A, decode_reply
from apiserver.nats.reply_inbox import ReplyInbox

REQUEST_TIMEOUT_SECONDS: Final = 5.0


class JetStreamRequests:
    """Asks while the queue answers, and fails at once while it does not.

    `absence` is set whenever there was no stream for what was asked.
    """

    def __init__(self, connection: QueueConnection, breaker: CircuitBreaker) -> None:
        self._connection = connection
        self._breaker = breaker
        self._connect_count = 0
        self._reply_inbox: ReplyInbox | None = None
        self.stream_missing = asyncio.Event()

    @property
    def client(self) -> Client:
        """The connected client; QueueNotSentError.

        A client without a connection would keep what it is given, and send it much later.
        """
        client = self._connection.client
        if not client.is_connected:
            raise QueueNotSentError(self._connection.status.error or "not connected")
        return client

    async def request_as(
        self,
        reply_type: type[A],
        subject: str,
        payload: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> A:
        """What JetStream says to a request; QueueError."""
        message = await self.request(subject, payload, headers)
        try:
            return decode_reply(message.data, reply_type)
        except StreamNotFoundError:
            self.stream_missing.set()
            raise

    async def request(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        """The answer to a request; QueueError."""
        client = self.client
        self._probe_after_connect()
        entry = self._breaker.acquire()
        if entry is None:
            raise QueueNotSentError("the queue does not answer", self._breaker.retry_after)
        outcome = CallResult.UNKNOWN
        try:
            with preserve_cancellation():
                inbox = await self._get_inbox(client)
                answer = await inbox.request(subject, payload, headers, REQUEST_TIMEOUT_SECONDS)
            outcome = CallResult.ANSWERED
        except (nats.errors.Error, OSError, TimeoutError) as error:
            failure = queue_error_of(error)
            is_answer = isinstance(failure, QueueRejectedError)
            outcome = CallResult.ANSWERED if is_answer else CallResult.FAILED
            if isinstance(failure, StreamNotFoundError):
                self.stream_missing.set()
            raise failure from error
        else:
            return answer
        finally:
            self._breaker.release(entry, outcome)

    async def publish(self, subject: str, payload: bytes, reply_subject: str = "") -> None:
        """Send something to whoever listens; QueueError."""
        client = self.client
        try:
            with preserve_cancellation():
                await client.publish(subject, payload, reply_subject)
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise queue_error_of(error) from error

    async def _get_inbox(self, client: Client) -> ReplyInbox:
        if self._reply_inbox is not None and self._reply_inbox.client is client:
            return self._reply_inbox
        self._reply_inbox = inbox = ReplyInbox(client)
        await inbox.open()
        return inbox

    def _probe_after_connect(self) -> None:
        """A new connection is a sign of life."""
        if self._connect_count != self._connection.connect_count:
            self._connect_count = self._connection.connect_count
            self._breaker.allow_probe_now()


def queue_error_of(error: Exception) -> QueueError:
    """What a failed request says of what was asked."""
    match error:
        case nats.errors.NoRespondersError():
            return StreamNotFoundError("nobody there keeps this; is JetStream enabled?")
        case nats.errors.MaxPayloadError():
            return QueueRejectedError("it is larger than the queue takes (max_payload)")
        case TimeoutError():
            return QueueTimeoutError("the queue did not answer in time")
        case _:
            return QueueError(f"the queue broke off: {describe_error(error)}")
