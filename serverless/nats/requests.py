"""JetStream by its own requests: what a caller sends is what it means, and answers are typed."""

import base64
from collections.abc import Callable
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import heeding_cancellation
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import AbsentError, QueueError, refusal, unavailable
from serverless.nats.stored_message import REMOVED, Stored, milliseconds, stored

ANSWER_SECONDS: Final = 5.0
MESSAGE_ID: Final = "Nats-Msg-Id"
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"

Wire = dict[str, Any]


class JetStream:
    """Streams, messages and keys; `fence` is asked before each write and raises if we may not."""

    def __init__(
        self, connection: QueueConnection, fence: Callable[[], None] = lambda: None
    ) -> None:
        self._connection = connection
        self._fence = fence

    async def ask(self, verb: str, body: Wire | None = None) -> Wire:
        """One request on `$JS.API.<verb>`; a RefusedError says why not."""
        data = b"" if body is None else msgspec.json.encode(body)
        return answer((await self._request(f"$JS.API.{verb}", data)).data)

    async def change(self, verb: str, body: Wire | None = None) -> Wire:
        """A request that changes something, so that only a leader may send it."""
        self._fence()
        return await self.ask(verb, body)

    async def publish(
        self,
        subject: str,
        data: bytes,
        *,
        message_id: str = "",
        expected: int | None = None,
    ) -> int:
        """Store a message, and give its sequence; `expected` makes it a compare-and-set."""
        self._fence()
        headers = {MESSAGE_ID: message_id} if message_id else {}
        if expected is not None:
            headers[EXPECTED] = str(expected)
        said = answer((await self._request(subject, data, headers)).data)
        sequence: int = said["seq"]
        return sequence

    async def say(self, subject: str, data: bytes) -> None:
        """Send something to whoever listens; nobody answers."""
        self._fence()
        try:
            with heeding_cancellation():
                await self._connection.client.publish(subject, data)
        except (nats.errors.Error, OSError) as error:
            raise unavailable(error, subject) from error

    async def last(self, stream: str, subject: str) -> Stored | None:
        """The newest message of a subject, read at the leader of the stream."""
        return await self._message(stream, {"last_by_subj": subject})

    async def first(self, stream: str, subject: str, sequence: int = 1) -> Stored | None:
        """The oldest message that `subject` matches, not before `sequence`."""
        return await self._message(stream, {"seq": sequence, "next_by_subj": subject})

    async def page(
        self, stream: str, subject: str, sequence: int, most: int, most_bytes: int
    ) -> list[Stored]:
        """Some messages in order from `sequence` on; none where there are no more."""
        asked = {
            "seq": sequence,
            "next_by_subj": subject,
            "batch": most,
            "max_bytes": most_bytes,
        }
        client = self._connection.client
        inbox = client.new_inbox()
        try:
            with heeding_cancellation():
                waiting = await client.subscribe(inbox)
                try:
                    data = msgspec.json.encode(asked)
                    await client.publish(f"$JS.API.DIRECT.GET.{stream}", data, reply=inbox)
                    return [each async for each in batch(waiting.next_msg)]
                finally:
                    await waiting.unsubscribe()
        except (nats.errors.Error, OSError) as error:
            raise unavailable(error, stream) from error

    async def remove(self, stream: str, sequence: int) -> None:
        """Take one message out, by its sequence and no other way; gone already is as good."""
        try:
            await self.change(f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True})
        except AbsentError:
            return

    async def _message(self, stream: str, which: Wire) -> Stored | None:
        try:
            said = await self.ask(f"STREAM.MSG.GET.{stream}", which)
        except AbsentError:
            return None
        found = said["message"]
        headers = base64.b64decode(found.get("hdrs", ""))
        return Stored(
            subject=found["subject"],
            sequence=found["seq"],
            at=milliseconds(found["time"]),
            data=base64.b64decode(found.get("data", "")),
            is_removal=REMOVED.encode() in headers,
        )

    async def _request(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> Msg:
        client: Client = self._connection.client
        try:
            with heeding_cancellation():
                return await client.request(
                    subject, data, timeout=ANSWER_SECONDS, headers=headers or None
                )
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise unavailable(error, subject) from error


async def batch(next_message: Callable[..., Any]) -> Any:
    """The messages of one direct read up to its end."""
    while True:
        message: Msg = await next_message(timeout=ANSWER_SECONDS)
        headers = message.headers or {}
        status = headers.get("Status")
        if status in ("204", "404"):
            return
        if status is not None:
            raise QueueError(f"{status} {headers.get('Description', '')}")
        yield stored(headers, message.data)


def answer(data: bytes) -> Wire:
    """What JetStream has said, or the error that it has told."""
    try:
        said: Wire = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise QueueError(f"not an answer of JetStream: {error}") from error
    if (why := said.get("error")) is not None:
        raise refusal(why.get("err_code", 0), why.get("description", "refused"))
    return said
