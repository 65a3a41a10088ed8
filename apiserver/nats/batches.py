"""Several messages of a stream by one request, without a consumer that outlives it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from apiserver.cancellation import preserve_cancellation
from apiserver.nats.errors import QueueTimeoutError, StreamNotFoundError
from apiserver.nats.records import SEQUENCE_HEADER, STATUS_HEADER
from apiserver.nats.requests import REQUEST_TIMEOUT_SECONDS, JetStreamRequests, queue_error_of

MAX_BATCH_BYTES: Final = 16 * 1024 * 1024
PENDING_HEADER: Final = "Nats-Num-Pending"


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages in their order, and how many match after them."""

    messages: tuple[Msg, ...]
    remaining: int


class BatchReader:
    """Reads the messages of one stream whose subjects match a filter."""

    def __init__(self, requests: JetStreamRequests) -> None:
        self._requests = requests

    async def read(
        self, stream: str, subjects: str, first_sequence: int, max_messages: int
    ) -> Batch:
        """At most `most` messages from the sequence `first` on; fewer where they are large."""
        wanted = {
            "seq": first_sequence,
            "next_by_subj": subjects,
            "batch": max_messages,
            "max_bytes": MAX_BATCH_BYTES,
        }
        client = self._requests.client
        inbox = client.new_inbox()
        answers = await client.subscribe(inbox)
        try:
            await self._requests.publish(
                f"$JS.API.DIRECT.GET.{stream}", msgspec.json.encode(wanted), inbox
            )
            return await _collect_batch(answers)
        except nats.errors.Error as error:
            raise queue_error_of(error) from error
        finally:
            await _unsubscribe(answers)

    async def count(self, stream: str, subjects: str, first_sequence: int) -> int:
        """How many messages match from the sequence `first` on."""
        batch = await self.read(stream, subjects, first_sequence, 1)
        return len(batch.messages) + batch.remaining

    async def iter_messages(
        self, stream: str, subjects: str, batch_size: int, first_sequence: int = 1
    ) -> AsyncIterator[Msg]:
        """Every message that matches from the sequence `first` on, `most` at a time."""
        left = 1
        while left:
            batch = await self.read(stream, subjects, first_sequence, batch_size)
            for message in batch.messages:
                yield message
                first_sequence = sequence_of(message) + 1
            left = batch.remaining if batch.messages else 0


def sequence_of(message: Msg) -> int:
    """Where in its stream a message stands."""
    return int((message.headers or {})[SEQUENCE_HEADER])


async def _collect_batch(replies: Subscription) -> Batch:
    messages: list[Msg] = []
    while True:
        message = await _next_reply(replies)
        headers: dict[str, Any] = message.headers or {}
        match headers.get(STATUS_HEADER):
            case None:
                messages.append(message)
            case "204":
                return Batch(tuple(messages), int(headers.get(PENDING_HEADER, 0)))
            case "404":
                return Batch(tuple(messages), 0)
            case status:
                raise StreamNotFoundError(f"the stream cannot be read: {status}")


async def _next_reply(replies: Subscription) -> Msg:
    try:
        with preserve_cancellation():
            return await replies.next_msg(timeout=REQUEST_TIMEOUT_SECONDS)
    except (TimeoutError, nats.errors.TimeoutError):
        raise QueueTimeoutError("the queue did not answer in time") from None


async def _unsubscribe(replies: Subscription) -> None:
    try:
        await replies.unsubscribe()
    except nats.errors.Error:
        return  # with the connection went what we wanted to end
