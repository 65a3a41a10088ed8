"""The work queue and the streams of outcomes, as the API uses them."""

import msgspec

from apiserver.nats.errors import NotInQueueError
from apiserver.nats.replies import (
    AlreadyStoredError,
    Answer,
    ConsumerInfo,
    Found,
    Stored,
    StreamInfo,
)
from apiserver.nats.requests import Caller
from shared.invocation import message as messages
from shared.invocation.final_messages import announcements
from shared.invocation.message import Call
from shared.invocation.queue_names import QueueNames, consumer_of
from shared.invocation.record import Record

_BEYOND = 2**31  # past the last subject: only their number is wanted


class CallStream:
    """Implements the port CallQueue."""

    def __init__(self, caller: Caller, names: QueueNames) -> None:
        self._caller = caller
        self._names = names

    async def publish(self, call: Call) -> None:
        """Queue a call; one that is there already is this one, or keeps this one from running."""
        subject = self._names.call_subject(call.request_id, call.invocation_id)
        try:
            await self._caller.answer(Stored, subject, messages.encode(call))
        except AlreadyStoredError:
            return

    async def withdraw(self, call: Call) -> None:
        """Remove the message of this very run by its sequence: its subject may have another."""
        stream = self._names.invocations_stream
        subject = self._names.call_subject(call.request_id, call.invocation_id)
        wanted = msgspec.json.encode({"last_by_subj": subject})
        try:
            answer = await self._caller.answer(Found, f"$JS.API.STREAM.MSG.GET.{stream}", wanted)
            found = answer.message
            if found is None or found.data != messages.encode(call):
                return
            unwanted = msgspec.json.encode({"seq": found.seq, "no_erase": True})
            await self._caller.answer(Answer, f"$JS.API.STREAM.MSG.DELETE.{stream}", unwanted)
        except NotInQueueError:
            return  # somebody has acknowledged it

    async def queued(self, request_id: str) -> int:
        """How many calls no worker has taken; before there is a consumer, all of them."""
        stream = self._names.invocations_stream
        subject = f"$JS.API.CONSUMER.INFO.{stream}.{consumer_of(request_id)}"
        try:
            return (await self._caller.answer(ConsumerInfo, subject)).num_pending
        except NotInQueueError:
            return await self.held(request_id)

    async def held(self, request_id: str) -> int:
        """How many calls are queued or running: each has a message until it is final."""
        wanted = {"subjects_filter": self._names.calls_of(request_id), "offset": _BEYOND}
        subject = f"$JS.API.STREAM.INFO.{self._names.invocations_stream}"
        return (await self._caller.answer(StreamInfo, subject, msgspec.json.encode(wanted))).total

    async def held_by_all(self) -> int:
        """How many calls of all functions are queued or running."""
        subject = f"$JS.API.STREAM.INFO.{self._names.invocations_stream}"
        return (await self._caller.answer(StreamInfo, subject)).state.messages

    async def nudge(self, request_id: str, invocation_id: str) -> None:
        """Tell the workers at once; they would see it at their next heartbeat anyway."""
        subject = self._names.nudge_subject(request_id)
        await self._caller.say(subject, invocation_id.encode())


class OutcomeStreams:
    """Implements the port OutcomeLog."""

    def __init__(self, caller: Caller, names: QueueNames) -> None:
        self._caller = caller
        self._names = names

    async def tell(self, key: str, record: Record) -> None:
        """Tell how a final record has ended; the streams drop second copies by their id."""
        for each in announcements(self._names, key, record):
            headers = {"Nats-Msg-Id": each.message_id}
            await self._caller.answer(Stored, each.subject, each.data, headers)
