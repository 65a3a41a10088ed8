"""All that a worker does at the queue: one method a request, and none beyond its rights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import heeding_cancellation
from serverless.worker.jetstream_errors import NoRoomError, QueueError, WrongRevisionError
from shared.invocation.queue_names import QueueNames, consumer_of

ANSWER_SECONDS: Final = 5.0

_WRONG_LAST_SEQUENCE: Final = 10071
_STREAM_FULL: Final = 10077
_EXPECTED_REVISION: Final = "Nats-Expected-Last-Subject-Sequence"
_MESSAGE_ID: Final = "Nats-Msg-Id"
_NOT_FOUND: Final = "404"
_BILLION: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    """A value of a bucket and its revision."""

    value: bytes
    revision: int


class _Refusal(msgspec.Struct, frozen=True):
    description: str = ""
    err_code: int = 0


class _Stored(msgspec.Struct, frozen=True):
    seq: int = 0
    error: _Refusal | None = None


class Queue:
    """Speaks JetStream's own protocol on whatever connection there is at the moment."""

    def __init__(self, names: QueueNames) -> None:
        self.names = names
        self._client: Client | None = None

    def use(self, client: Client | None) -> None:
        """Speak on this connection from now on."""
        self._client = client

    @property
    def is_connected(self) -> bool:
        """Whether the queue can be asked for anything now."""
        return self._client is not None and self._client.is_connected

    async def read(self, stream: str, subject: str) -> Kept | None:
        """The last message of a subject; none where there is none, or only a deletion."""
        answer = await self._ask(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"")
        return _kept(answer)

    async def read_next(self, stream: str, subject: str, sequence: int) -> Kept | None:
        """The first message of a subject at this place of the stream or after it."""
        asked = msgspec.json.encode({"seq": sequence, "next_by_subj": subject})
        return _kept(await self._ask(f"$JS.API.DIRECT.GET.{stream}", asked))

    async def write(self, subject: str, value: bytes, revision: int) -> int:
        """Put a new value in the place of a known one. Its revision."""
        return await self._store(subject, value, {_EXPECTED_REVISION: str(revision)})

    async def tell(self, subject: str, data: bytes, message_id: str = "") -> None:
        """Add a message to a stream, once for each id."""
        await self._store(subject, data, {_MESSAGE_ID: message_id} if message_id else {})

    async def roll_up(self, subject: str, data: bytes) -> None:
        """Add a message in the place of all earlier ones of its subject."""
        await self._store(subject, data, {"Nats-Rollup": "sub"})

    async def answer(self, reply: str, data: bytes) -> None:
        """Say what became of a message, without waiting whether it is heard."""
        await self._send(reply, data)

    async def pull(self, request_id: str, inbox: str, batch: int, seconds: float) -> None:
        """Ask for up to `batch` messages, which come to `inbox` within `seconds`."""
        asked = {
            "batch": batch,
            "expires": int(seconds * _BILLION),
            "idle_heartbeat": int(seconds / 4 * _BILLION),
        }
        stream, consumer = self.names.invocations_stream, consumer_of(request_id)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        await self._send(subject, msgspec.json.encode(asked), inbox)

    async def _send(self, subject: str, data: bytes, reply: str = "") -> None:
        try:
            with heeding_cancellation():
                await self._connection().publish(subject, data, reply=reply)
        except (nats.errors.Error, OSError) as error:
            raise QueueError(f"{subject}: {error!r}") from error

    async def _store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> int:
        answer = await self._ask(subject, data, headers)
        try:
            stored = msgspec.json.decode(answer.data, type=_Stored)
        except msgspec.DecodeError as error:
            raise QueueError(f"{subject}: not from a stream: {answer.data[:200]!r}") from error
        if stored.error is None:
            return stored.seq
        kinds = {_WRONG_LAST_SEQUENCE: WrongRevisionError, _STREAM_FULL: NoRoomError}
        raise kinds.get(stored.error.err_code, QueueError)(f"{subject}: {stored.error.description}")

    async def _ask(
        self, subject: str, data: bytes, headers: Mapping[str, str] | None = None
    ) -> Msg:
        client, sent = self._connection(), dict(headers) if headers else None
        try:
            with heeding_cancellation():
                return await client.request(subject, data, timeout=ANSWER_SECONDS, headers=sent)
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise QueueError(f"{subject}: {error!r}") from error

    def _connection(self) -> Client:
        """Nothing is sent while we are cut off: the library would keep it and send it later."""
        if self._client is None or not self._client.is_connected:
            raise QueueError("the queue cannot be reached")
        return self._client


def _kept(answer: Msg) -> Kept | None:
    headers = answer.headers or {}
    if status := headers.get("Status"):
        if status == _NOT_FOUND:
            return None
        raise QueueError(f"{status} {headers.get('Description', '')}")
    if "KV-Operation" in headers:
        return None
    return Kept(answer.data, int(headers["Nats-Sequence"]))
