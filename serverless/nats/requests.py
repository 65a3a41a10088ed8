"""Requests to JetStream over its own API, with typed replies."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.errors import (
    JetStreamNotFoundError,
    QueueError,
    api_error_of,
    request_error_of,
)
from serverless.nats.stored_message import (
    KV_OPERATION_HEADER,
    StoredMessage,
    parse_server_time_ms,
    parse_stored_message,
)

REQUEST_TIMEOUT_SECONDS: Final = 5.0
MESSAGE_ID_HEADER: Final = "Nats-Msg-Id"
EXPECTED_SEQUENCE_HEADER: Final = "Nats-Expected-Last-Subject-Sequence"
ROLLUP_HEADER: Final = "Nats-Rollup"

_STATUS_HEADER: Final = "Status"
_NOT_FOUND_STATUS: Final = "404"
_END_OF_BATCH_STATUS: Final = "204"
_NANOSECONDS_PER_SECOND: Final = 1_000_000_000

JsonObject = dict[str, Any]


class ClientSource(Protocol):
    """The source of the client that sends the requests: a connection."""

    @property
    def client(self) -> Client:
        """The connected client; raises UnavailableError."""
        ...


class JetStreamClient:
    """Reads and writes streams; `fence` is called before each write of a leader and may raise.

    All methods raise QueueError. A worker may use those that say so, and no others: its NATS user
    has no rights for them.
    """

    def __init__(self, connection: ClientSource, fence: Callable[[], None] = lambda: None) -> None:
        self._connection = connection
        self._fence = fence

    async def call_api(self, verb: str, body: JsonObject | None = None) -> JsonObject:
        """Send a request to `$JS.API.<verb>`; raises JetStreamApiError for an error reply."""
        data = b"" if body is None else msgspec.json.encode(body)
        return parse_api_response((await self._request(f"$JS.API.{verb}", data)).data)

    async def call_api_fenced(self, verb: str, body: JsonObject | None = None) -> JsonObject:
        """Send a request that changes something, so that only a leader may send it."""
        self._fence()
        return await self.call_api(verb, body)

    async def publish(
        self,
        subject: str,
        data: bytes,
        *,
        message_id: str = "",
        expected_sequence: int | None = None,
    ) -> int:
        """Store a message and return its sequence; `expected_sequence` makes it a compare-and-set.

        A stream stores a message id once. Workers may use this.
        """
        headers = {MESSAGE_ID_HEADER: message_id} if message_id else {}
        if expected_sequence is not None:
            headers[EXPECTED_SEQUENCE_HEADER] = str(expected_sequence)
        return await self._publish(subject, data, headers)

    async def publish_rollup(self, subject: str, data: bytes) -> None:
        """Store a message in place of all earlier ones of its subject; workers may use this."""
        await self._publish(subject, data, {ROLLUP_HEADER: "sub"})

    async def send(self, subject: str, data: bytes, reply: str = "") -> None:
        """Send a message to the present subscribers, without a confirmation."""
        self._fence()
        try:
            with preserve_cancellation():
                await self._connection.client.publish(subject, data, reply=reply)
        except (nats.errors.Error, OSError) as error:
            raise request_error_of(error, subject) from error

    async def acknowledge(self, reply: str, ack: bytes) -> None:
        """Acknowledge a message without a confirmation; workers may use this."""
        await self.send(reply, ack)

    async def pull(
        self, stream: str, consumer: str, inbox: str, batch: int, expires_seconds: float
    ) -> None:
        """Request up to `batch` messages to `inbox` until the request expires; for workers."""
        body = {
            "batch": batch,
            "expires": int(expires_seconds * _NANOSECONDS_PER_SECOND),
            "idle_heartbeat": int(expires_seconds / 4 * _NANOSECONDS_PER_SECOND),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        await self.send(subject, msgspec.json.encode(body), inbox)

    async def get_last_message(self, stream: str, subject: str) -> StoredMessage | None:
        """Return the newest message of a subject, read at the leader of the stream, or None."""
        return await self._get_message(stream, {"last_by_subj": subject})

    async def get_first_message(
        self, stream: str, subject: str, start_sequence: int = 1
    ) -> StoredMessage | None:
        """Return the oldest message of a subject filter from `start_sequence` on, or None."""
        return await self._get_message(stream, {"seq": start_sequence, "next_by_subj": subject})

    async def get_last_direct(self, stream: str, subject: str) -> StoredMessage | None:
        """Return the newest message of a subject from any replica; None also for a deletion.

        Workers may use this.
        """
        reply = await self._request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"")
        message = _parse_direct_reply(reply)
        return None if message is None or message.is_deletion else message

    async def get_next_direct(
        self, stream: str, subject: str, start_sequence: int
    ) -> StoredMessage | None:
        """Return the first message of a subject from `start_sequence` on, from any replica.

        None also for a deletion. Workers may use this.
        """
        body = msgspec.json.encode({"seq": start_sequence, "next_by_subj": subject})
        message = _parse_direct_reply(await self._request(f"$JS.API.DIRECT.GET.{stream}", body))
        return None if message is None or message.is_deletion else message

    async def read_page(
        self, stream: str, subject: str, start_sequence: int, max_messages: int, max_bytes: int
    ) -> list[StoredMessage]:
        """Return the next messages from `start_sequence` on; empty if there are none."""
        body = {
            "seq": start_sequence,
            "next_by_subj": subject,
            "batch": max_messages,
            "max_bytes": max_bytes,
        }
        client = self._connection.client
        inbox = client.new_inbox()
        try:
            with preserve_cancellation():
                subscription = await client.subscribe(inbox)
                try:
                    data = msgspec.json.encode(body)
                    await client.publish(f"$JS.API.DIRECT.GET.{stream}", data, reply=inbox)
                    return [message async for message in read_batch(subscription.next_msg)]
                finally:
                    await subscription.unsubscribe()
        except (nats.errors.Error, OSError) as error:
            raise request_error_of(error, stream) from error

    async def delete_message(self, stream: str, sequence: int) -> None:
        """Delete the message of a sequence; do nothing if it does not exist."""
        try:
            await self.call_api_fenced(
                f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True}
            )
        except JetStreamNotFoundError:
            return

    async def _publish(self, subject: str, data: bytes, headers: dict[str, str]) -> int:
        self._fence()
        reply = parse_api_response((await self._request(subject, data, headers)).data)
        sequence: int = reply.get("seq", 0)
        return sequence

    async def _get_message(self, stream: str, query: JsonObject) -> StoredMessage | None:
        try:
            reply = await self.call_api(f"STREAM.MSG.GET.{stream}", query)
        except JetStreamNotFoundError:
            return None
        message = reply["message"]
        headers = base64.b64decode(message.get("hdrs", ""))
        return StoredMessage(
            subject=message["subject"],
            sequence=message["seq"],
            stored_at=parse_server_time_ms(message["time"]),
            data=base64.b64decode(message.get("data", "")),
            is_deletion=KV_OPERATION_HEADER.encode() in headers,
        )

    async def _request(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> Msg:
        client = self._connection.client
        try:
            with preserve_cancellation():
                return await client.request(
                    subject, data, timeout=REQUEST_TIMEOUT_SECONDS, headers=headers or None
                )
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise request_error_of(error, subject) from error


async def read_batch(
    next_message: Callable[[float], Awaitable[Msg]],
) -> AsyncIterator[StoredMessage]:
    """Yield the messages of one direct read until its end."""
    while True:
        reply = await next_message(REQUEST_TIMEOUT_SECONDS)
        if (reply.headers or {}).get(_STATUS_HEADER) == _END_OF_BATCH_STATUS:
            return
        message = _parse_direct_reply(reply)
        if message is None:
            return
        yield message


def _parse_direct_reply(reply: Msg) -> StoredMessage | None:
    """Return the message of a direct read; None if there is none."""
    headers = reply.headers or {}
    if (status := headers.get(_STATUS_HEADER)) is None:
        return parse_stored_message(headers, reply.data)
    if status == _NOT_FOUND_STATUS:
        return None
    raise QueueError(f"{status} {headers.get('Description', '')}")


def parse_api_response(data: bytes) -> JsonObject:
    """Return the reply; raises JetStreamApiError for an error, QueueError for an invalid reply."""
    try:
        reply: JsonObject = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise QueueError(f"not a reply of JetStream: {error}") from error
    if (error_info := reply.get("error")) is not None:
        raise api_error_of(error_info.get("err_code", 0), error_info.get("description", "refused"))
    return reply
