"""A reader of many messages of a stream in one request, without a consumer."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from apiserver.cancellation import preserve_cancellation
from apiserver.nats.errors import QueueTimeoutError, StreamNotFoundError
from apiserver.nats.replies import (
    END_OF_BATCH_STATUS,
    NOT_FOUND_STATUS,
    PENDING_HEADER,
    SEQUENCE_HEADER,
    STATUS_HEADER,
)
from apiserver.nats.requests import REQUEST_TIMEOUT_SECONDS, JetStreamRequests, queue_error_of

MAX_BATCH_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages in stream order, and how many further messages match."""

    messages: tuple[Msg, ...]
    remaining: int


class BatchReader:
    """A reader of the messages of a stream whose subjects match a filter."""

    def __init__(self, requests: JetStreamRequests) -> None:
        self._requests = requests

    async def read(
        self, stream: str, subjects: str, first_sequence: int, max_messages: int
    ) -> Batch:
        """Read up to `max_messages` from `first_sequence` on; fewer if they are large."""
        request = {
            "seq": first_sequence,
            "next_by_subj": subjects,
            "batch": max_messages,
            "max_bytes": MAX_BATCH_BYTES,
        }
        client = self._requests.client
        inbox = client.new_inbox()
        replies = await client.subscribe(inbox)
        try:
            await self._requests.publish(
                f"$JS.API.DIRECT.GET.{stream}", msgspec.json.encode(request), inbox
            )
            return await _collect_batch(replies)
        except nats.errors.Error as error:
            raise queue_error_of(error) from error
        finally:
            await _unsubscribe(replies)

    async def count(self, stream: str, subjects: str, first_sequence: int) -> int:
        """Count the matching messages from `first_sequence` on."""
        batch = await self.read(stream, subjects, first_sequence, 1)
        return len(batch.messages) + batch.remaining

    async def iter_messages(
        self, stream: str, subjects: str, batch_size: int, first_sequence: int = 1
    ) -> AsyncIterator[Msg]:
        """Yield every matching message from `first_sequence` on."""
        remaining = 1
        while remaining:
            batch = await self.read(stream, subjects, first_sequence, batch_size)
            for message in batch.messages:
                yield message
                first_sequence = sequence_of(message) + 1
            remaining = batch.remaining if batch.messages else 0


def sequence_of(message: Msg) -> int:
    """Return the sequence of a message in its stream."""
    return int((message.headers or {})[SEQUENCE_HEADER])


async def _collect_batch(replies: Subscription) -> Batch:
    messages: list[Msg] = []
    while True:
        message = await _next_reply(replies)
        headers: dict[str, Any] = message.headers or {}
        status = headers.get(STATUS_HEADER)
        if status is None:
            messages.append(message)
        elif status == END_OF_BATCH_STATUS:
            return Batch(tuple(messages), int(headers.get(PENDING_HEADER, 0)))
        elif status == NOT_FOUND_STATUS:
            return Batch(tuple(messages), 0)
        else:
            raise StreamNotFoundError(f"the stream cannot be read: {status}")


async def _next_reply(replies: Subscription) -> Msg:
    try:
        with preserve_cancellation():
            return await replies.next_msg(timeout=REQUEST_TIMEOUT_SECONDS)
    except (TimeoutError, nats.errors.TimeoutError):
        raise QueueTimeoutError("the queue did not respond in time") from None


async def _unsubscribe(replies: Subscription) -> None:
    try:
        await replies.unsubscribe()
    except nats.errors.Error:
        return  # the subscription ended with its connection
