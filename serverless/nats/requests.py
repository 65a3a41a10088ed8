"""JetStream by its own requests: what a caller sends is what it means, and answers are typed."""

import base64
from collections.abc import Callable
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.connection import QueueConnection
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

JsonObject = dict[str, Any]


class JetStreamClient:
    """Streams, messages and keys; `fence` is asked before each write and raises if we may not."""

    def __init__(
        self, connection: QueueConnection, fence: Callable[[], None] = lambda: None
    ) -> None:
        self._connection = connection
        self._fence = fence

    async def call_api(self, verb: str, body: JsonObject | None = None) -> JsonObject:
        """One request on `$JS.API.<verb>`; a RefusedError says why not."""
        data = b"" if body is None else msgspec.json.encode(body)
        return parse_api_response((await self._request(f"$JS.API.{verb}", data)).data)

    async def call_api_fenced(self, verb: str, body: JsonObject | None = None) -> JsonObject:
        """A request that changes something, so that only a leader may send it."""
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
        """Store a message, and give its sequence; `expected` makes it a compare-and-set."""
        self._fence()
        headers = {MESSAGE_ID_HEADER: message_id} if message_id else {}
        if expected_sequence is not None:
            headers[EXPECTED_SEQUENCE_HEADER] = str(expected_sequence)
        said = parse_api_response((await self._request(subject, data, headers)).data)
        sequence: int = said["seq"]
        return sequence

    async def send(self, subject: str, data: bytes) -> None:
        """Send something to whoever listens; nobody answers."""
        self._fence()
        try:
            with preserve_cancellation():
                await self._connection.client.publish(subject, data)
        except (nats.errors.Error, OSError) as error:
            raise request_error_of(error, subject) from error

    async def get_last_message(self, stream: str, subject: str) -> StoredMessage | None:
        """The newest message of a subject, read at the leader of the stream."""
        return await self._get_message(stream, {"last_by_subj": subject})

    async def get_first_message(
        self, stream: str, subject: str, start_sequence: int = 1
    ) -> StoredMessage | None:
        """The oldest message that `subject` matches, not before `sequence`."""
        return await self._get_message(stream, {"seq": start_sequence, "next_by_subj": subject})

    async def read_page(
        self, stream: str, subject: str, start_sequence: int, max_messages: int, max_bytes: int
    ) -> list[StoredMessage]:
        """Some messages in order from `sequence` on; none where there are no more."""
        asked = {
            "seq": start_sequence,
            "next_by_subj": subject,
            "batch": max_messages,
            "max_bytes": max_bytes,
        }
        client = self._connection.client
        inbox = client.new_inbox()
        try:
            with preserve_cancellation():
                waiting = await client.subscribe(inbox)
                try:
                    data = msgspec.json.encode(asked)
                    await client.publish(f"$JS.API.DIRECT.GET.{stream}", data, reply=inbox)
                    return [each async for each in read_batch(waiting.next_msg)]
                finally:
                    await waiting.unsubscribe()
        except (nats.errors.Error, OSError) as error:
            raise request_error_of(error, stream) from error

    async def delete_message(self, stream: str, sequence: int) -> None:
        """Take one message out, by its sequence and no other way; gone already is as good."""
        try:
            await self.call_api_fenced(
                f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True}
            )
        except JetStreamNotFoundError:
            return

    async def _get_message(self, stream: str, query: JsonObject) -> StoredMessage | None:
        try:
            said = await self.call_api(f"STREAM.MSG.GET.{stream}", query)
        except JetStreamNotFoundError:
            return None
        found = said["message"]
        headers = base64.b64decode(found.get("hdrs", ""))
        return StoredMessage(
            subject=found["subject"],
            sequence=found["seq"],
            stored_at=parse_server_time_ms(found["time"]),
            data=base64.b64decode(found.get("data", "")),
            is_deletion=KV_OPERATION_HEADER.encode() in headers,
        )

    async def _request(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> Msg:
        client: Client = self._connection.client
        try:
            with preserve_cancellation():
                return await client.request(
                    subject, data, timeout=REQUEST_TIMEOUT_SECONDS, headers=headers or None
                )
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise request_error_of(error, subject) from error


async def read_batch(next_message: Callable[..., Any]) -> Any:
    """The messages of one direct read up to its end."""
    while True:
        message: Msg = await next_message(timeout=REQUEST_TIMEOUT_SECONDS)
        headers = message.headers or {}
        status = headers.get("Status")
        if status in ("204", "404"):
            return
        if status is not None:
            raise QueueError(f"{status} {headers.get('Description', '')}")
        yield parse_stored_message(headers, message.data)


def parse_api_response(data: bytes) -> JsonObject:
    """What JetStream has said, or the error that it has told."""
    try:
        said: JsonObject = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise QueueError(f"not an answer of JetStream: {error}") from error
    if (why := said.get("error")) is not None:
        raise api_error_of(why.get("err_code", 0), why.get("description", "refused"))
    return said
