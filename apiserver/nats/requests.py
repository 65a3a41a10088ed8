"""Requests to JetStream through a circuit breaker."""

import asyncio
import itertools
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
from apiserver.nats.replies import NO_RESPONDERS_STATUS, STATUS_HEADER, A, decode_reply

REQUEST_TIMEOUT_SECONDS: Final = 5.0


class ReplyInbox:
    """An inbox with numbered reply subjects: the client's random ones take a third longer."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._prefix = f"{client.new_inbox()}."
        self._counter = itertools.count()
        self._pending_replies: dict[str, asyncio.Future[Msg]] = {}

    async def open(self) -> None:
        """Subscribe to the inbox; the client renews the subscription on a new connection."""
        await self.client.subscribe(f"{self._prefix}*", cb=self._on_reply)

    async def request(
        self,
        subject: str,
        payload: bytes,
        headers: Mapping[str, str] | None,
        timeout_seconds: float,
    ) -> Msg:
        """Return the reply to a request; raises TimeoutError, nats.errors.Error."""
        reply_subject = f"{self._prefix}{next(self._counter)}"
        pending: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._pending_replies[reply_subject] = pending
        try:
            sent_headers = dict(headers) if headers else None
            await self.client.publish(subject, payload, reply_subject, sent_headers)
            reply = await asyncio.wait_for(pending, timeout_seconds)
        finally:
            del self._pending_replies[reply_subject]
        if reply.headers and reply.headers.get(STATUS_HEADER) == NO_RESPONDERS_STATUS:
            raise nats.errors.NoRespondersError
        return reply

    async def _on_reply(self, reply: Msg) -> None:
        pending = self._pending_replies.get(reply.subject)
        if pending is not None and not pending.done():
            pending.set_result(reply)


class JetStreamRequests:
    """A sender of requests that fail at once while the queue does not respond.

    `stream_missing` is set whenever a request finds no stream.
    """

    def __init__(self, connection: QueueConnection, breaker: CircuitBreaker) -> None:
        self._connection = connection
        self._breaker = breaker
        self._connect_count = 0
        self._reply_inbox: ReplyInbox | None = None
        self.stream_missing = asyncio.Event()

    @property
    def client(self) -> Client:
        """Return the connected client; raise QueueNotSentError if there is none.

        A client without a connection would buffer requests and send them much later.
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
        """Send a request and decode its reply; raises QueueError."""
        message = await self.request(subject, payload, headers)
        try:
            return decode_reply(message.data, reply_type)
        except StreamNotFoundError:
            self.stream_missing.set()
            raise

    async def request(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        """Send a request and return the reply; raises QueueError."""
        client = self.client
        self._probe_after_connect()
        permit = self._breaker.acquire()
        if permit is None:
            raise QueueNotSentError("the queue does not respond", self._breaker.retry_after)
        result = CallResult.UNKNOWN
        try:
            with preserve_cancellation():
                inbox = await self._get_inbox(client)
                reply = await inbox.request(subject, payload, headers, REQUEST_TIMEOUT_SECONDS)
            result = CallResult.ANSWERED
        except (nats.errors.Error, OSError, TimeoutError) as error:
            failure = queue_error_of(error)
            is_reply = isinstance(failure, QueueRejectedError)
            result = CallResult.ANSWERED if is_reply else CallResult.FAILED
            if isinstance(failure, StreamNotFoundError):
                self.stream_missing.set()
            raise failure from error
        else:
            return reply
        finally:
            self._breaker.release(permit, result)

    async def publish(self, subject: str, payload: bytes, reply_subject: str = "") -> None:
        """Publish a message without waiting for a reply; raises QueueError."""
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
        """Allow a probe at once after every new connection."""
        if self._connect_count != self._connection.connect_count:
            self._connect_count = self._connection.connect_count
            self._breaker.allow_probe_now()


def queue_error_of(error: Exception) -> QueueError:
    """Return the QueueError for an error of nats-py or of the connection."""
    match error:
        case nats.errors.NoRespondersError():
            return StreamNotFoundError(
                "no stream has this subject; check that JetStream is enabled"
            )
        case nats.errors.MaxPayloadError():
            return QueueRejectedError("the message is larger than max_payload of NATS")
        case TimeoutError():
            return QueueTimeoutError("the queue did not respond in time")
        case _:
            return QueueError(f"the connection to the queue failed: {describe_error(error)}")
