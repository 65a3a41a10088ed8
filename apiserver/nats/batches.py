"""Several messages of a stream by one request, without a consumer that outlives it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from apiserver.cancellation import heeding_cancellation
from apiserver.nats.errors import QueueTimeoutError, StreamAbsentError
from apiserver.nats.records import SEQUENCE, STATUS
from apiserver.nats.requests import CALL_SECONDS, Caller, failure_of

LARGEST_BATCH: Final = 16 * 1024 * 1024
PENDING: Final = "Nats-Num-Pending"


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages in their order, and how many match after them."""

    messages: tuple[Msg, ...]
    left: int


class BatchReader:
    """Reads the messages of one stream whose subjects match a filter."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def read(self, stream: str, subjects: str, first: int, most: int) -> Batch:
        """At most `most` messages from the sequence `first` on; fewer where they are large."""
        wanted = {
            "seq": first,
            "next_by_subj": subjects,
            "batch": most,
            "max_bytes": LARGEST_BATCH,
        }
        client = self._caller.client
        inbox = client.new_inbox()
        answers = await client.subscribe(inbox)
        try:
            await self._caller.say(
                f"$JS.API.DIRECT.GET.{stream}", msgspec.json.encode(wanted), inbox
            )
            return await _received(answers)
        except nats.errors.Error as error:
            raise failure_of(error) from error
        finally:
            await _forget(answers)

    async def count(self, stream: str, subjects: str, first: int) -> int:
        """How many messages match from the sequence `first` on."""
        batch = await self.read(stream, subjects, first, 1)
        return len(batch.messages) + batch.left

    async def all(
        self, stream: str, subjects: str, most: int, first: int = 1
    ) -> AsyncIterator[Msg]:
        """Every message that matches from the sequence `first` on, `most` at a time."""
        left = 1
        while left:
            batch = await self.read(stream, subjects, first, most)
            for message in batch.messages:
                yield message
                first = sequence_of(message) + 1
            left = batch.left if batch.messages else 0


def sequence_of(message: Msg) -> int:
    """Where in its stream a message stands."""
    return int((message.headers or {})[SEQUENCE])


async def _received(answers: Subscription) -> Batch:
    messages: list[Msg] = []
    while True:
        message = await _next(answers)
        headers: dict[str, Any] = message.headers or {}
        match headers.get(STATUS):
            case None:
                messages.append(message)
            case "204":
                return Batch(tuple(messages), int(headers.get(PENDING, 0)))
            case "404":
                return Batch(tuple(messages), 0)
            case status:
                raise StreamAbsentError(f"the stream cannot be read: {status}")


async def _next(answers: Subscription) -> Msg:
    try:
        with heeding_cancellation():
            return await answers.next_msg(timeout=CALL_SECONDS)
    except (TimeoutError, nats.errors.TimeoutError):
        raise QueueTimeoutError("the queue did not answer in time") from None


async def _forget(answers: Subscription) -> None:
    try:
        await answers.unsubscribe()
    except nats.errors.Error:
        return  # with the connection went what we wanted to end
