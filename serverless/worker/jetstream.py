"""All that a worker does at the queue: one method a request, and none beyond its rights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import preserve_cancellation
from serverless.worker.jetstream_errors import QueueError, RevisionConflictError, StreamLimitError
from shared.invocation.queue_names import QueueNames, consumer_name

REQUEST_TIMEOUT_SECONDS: Final = 5.0

_REVISION_CONFLICT_CODE: Final = 10071
_STREAM_LIMIT_CODE: Final = 10077
_EXPECTED_SEQUENCE_HEADER: Final = "Nats-Expected-Last-Subject-Sequence"
_MESSAGE_ID_HEADER: Final = "Nats-Msg-Id"
_NOT_FOUND_STATUS: Final = "404"
_NANOSECONDS_PER_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class DirectMessage:
    """A value of a bucket and its revision."""

    data: bytes
    sequence: int


class _ApiError(msgspec.Struct, frozen=True):
    description: str = ""
    err_code: int = 0


class _PublishAck(msgspec.Struct, frozen=True):
    seq: int = 0
    error: _ApiError | None = None


class WorkerJetStream:
    """Speaks JetStream's own protocol on whatever connection there is at the moment."""

    def __init__(self, queue_names: QueueNames) -> None:
        self.queue_names = queue_names
        self._client: Client | None = None

    def set_client(self, client: Client | None) -> None:
        """Speak on this connection from now on."""
        self._client = client

    @property
    def is_connected(self) -> bool:
        """Whether the queue can be asked for anything now."""
        return self._client is not None and self._client.is_connected

    async def get_last_direct(self, stream: str, subject: str) -> DirectMessage | None:
        """The last message of a subject; none where there is none, or only a deletion."""
        answer = await self._request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"")
        return _parse_direct_message(answer)

    async def get_next_direct(
        self, stream: str, subject: str, start_sequence: int
    ) -> DirectMessage | None:
        """The first message of a subject at this place of the stream or after it."""
        asked = msgspec.json.encode({"seq": start_sequence, "next_by_subj": subject})
        return _parse_direct_message(await self._request(f"$JS.API.DIRECT.GET.{stream}", asked))

    async def update(self, subject: str, value: bytes, revision: int) -> int:
        """Put a new value in the place of a known one. Its revision."""
        return await self._publish(subject, value, {_EXPECTED_SEQUENCE_HEADER: str(revision)})

    async def publish(self, subject: str, data: bytes, message_id: str = "") -> None:
        """Add a message to a stream, once for each id."""
        await self._publish(subject, data, {_MESSAGE_ID_HEADER: message_id} if message_id else {})

    async def publish_rollup(self, subject: str, data: bytes) -> None:
        """Add a message in the place of all earlier ones of its subject."""
        await self._publish(subject, data, {"Nats-Rollup": "sub"})

    async def acknowledge(self, reply: str, ack: bytes) -> None:
        """Say what became of a message, without waiting whether it is heard."""
        await self._send(reply, ack)

    async def pull(
        self, function_name: str, inbox: str, batch: int, expires_seconds: float
    ) -> None:
        """Ask for up to `batch` messages, which come to `inbox` within `seconds`."""
        asked = {
            "batch": batch,
            "expires": int(expires_seconds * _NANOSECONDS_PER_SECOND),
            "idle_heartbeat": int(expires_seconds / 4 * _NANOSECONDS_PER_SECOND),
        }
        stream, consumer = self.queue_names.invocations_stream, consumer_name(function_name)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        await self._send(subject, msgspec.json.encode(asked), inbox)

    async def _send(self, subject: str, data: bytes, reply: str = "") -> None:
        try:
            with preserve_cancellation():
                await self._connected_client().publish(subject, data, reply=reply)
        except (nats.errors.Error, OSError) as error:
            raise QueueError(f"{subject}: {error!r}") from error

    async def _publish(self, subject: str, data: bytes, headers: Mapping[str, str]) -> int:
        answer = await self._request(subject, data, headers)
        try:
            stored = msgspec.json.decode(answer.data, type=_PublishAck)
        except msgspec.DecodeError as error:
            raise QueueError(f"{subject}: not from a stream: {answer.data[:200]!r}") from error
        if stored.error is None:
            return stored.seq
        kinds = {
            _REVISION_CONFLICT_CODE: RevisionConflictError,
            _STREAM_LIMIT_CODE: StreamLimitError,
        }
        raise kinds.get(stored.error.err_code, QueueError)(f"{subject}: {stored.error.description}")

    async def _request(
        self, subject: str, data: bytes, headers: Mapping[str, str] | None = None
    ) -> Msg:
        client, sent = self._connected_client(), dict(headers) if headers else None
        try:
            with preserve_cancellation():
                return await client.request(
                    subject, data, timeout=REQUEST_TIMEOUT_SECONDS, headers=sent
                )
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise QueueError(f"{subject}: {error!r}") from error

    def _connected_client(self) -> Client:
        """Nothing is sent while we are cut off: the library would keep it and send it later."""
        if self._client is None or not self._client.is_connected:
            raise QueueError("the queue cannot be reached")
        return self._client


def _parse_direct_message(response: Msg) -> DirectMessage | None:
    headers = response.headers or {}
    if status := headers.get("Status"):
        if status == _NOT_FOUND_STATUS:
            return None
        raise QueueError(f"{status} {headers.get('Description', '')}")
    if "KV-Operation" in headers:
        return None
    return DirectMessage(response.data, int(headers["Nats-Sequence"]))
