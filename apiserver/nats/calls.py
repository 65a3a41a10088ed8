"""The work queue and the streams of outcomes, as the API uses them."""

import msgspec

from apiserver.nats.errors import QueueItemNotFoundError
from apiserver.nats.replies import (
    AlreadyStoredError,
    ConsumerInfo,
    JetStreamReply,
    MessageGetReply,
    PublishAck,
    StreamInfo,
)
from apiserver.nats.requests import JetStreamRequests
from shared.invocation import message as messages
from shared.invocation.final_messages import final_messages
from shared.invocation.message import CallMessage
from shared.invocation.queue_names import QueueNames, consumer_name
from shared.invocation.record import InvocationRecord

_OFFSET_PAST_SUBJECTS = 2**31  # past the last subject: only their number is wanted


class JetStreamCallQueue:
    """Implements the port CallQueue."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._names = names

    async def publish(self, call: CallMessage) -> None:
        """Queue a call; one that is there already is this one, or keeps this one from running."""
        subject = self._names.call_subject(call.function_name, call.invocation_id)
        try:
            await self._requests.request_as(PublishAck, subject, messages.encode_message(call))
        except AlreadyStoredError:
            return

    async def remove(self, call: CallMessage) -> None:
        """Remove the message of this very run by its sequence: its subject may have another."""
        stream = self._names.invocations_stream
        subject = self._names.call_subject(call.function_name, call.invocation_id)
        wanted = msgspec.json.encode({"last_by_subj": subject})
        try:
            answer = await self._requests.request_as(
                MessageGetReply, f"$JS.API.STREAM.MSG.GET.{stream}", wanted
            )
            found = answer.message
            if found is None or found.data != messages.encode_message(call):
                return
            unwanted = msgspec.json.encode({"seq": found.seq, "no_erase": True})
            await self._requests.request_as(
                JetStreamReply, f"$JS.API.STREAM.MSG.DELETE.{stream}", unwanted
            )
        except QueueItemNotFoundError:
            return  # somebody has acknowledged it

    async def count_pending(self, function_name: str) -> int:
        """How many calls no worker has taken; before there is a consumer, all of them."""
        stream = self._names.invocations_stream
        subject = f"$JS.API.CONSUMER.INFO.{stream}.{consumer_name(function_name)}"
        try:
            return (await self._requests.request_as(ConsumerInfo, subject)).num_pending
        except QueueItemNotFoundError:
            return await self.count_unfinished(function_name)

    async def count_unfinished(self, function_name: str) -> int:
        """How many calls are queued or running: each has a message until it is final."""
        wanted = {
            "subjects_filter": self._names.call_filter(function_name),
            "offset": _OFFSET_PAST_SUBJECTS,
        }
        subject = f"$JS.API.STREAM.INFO.{self._names.invocations_stream}"
        return (
            await self._requests.request_as(StreamInfo, subject, msgspec.json.encode(wanted))
        ).total

    async def count_all_unfinished(self) -> int:
        """How many calls of all functions are queued or running."""
        subject = f"$JS.API.STREAM.INFO.{self._names.invocations_stream}"
        return (await self._requests.request_as(StreamInfo, subject)).state.messages

    async def notify_cancelled(self, function_name: str, invocation_id: str) -> None:
        """Tell the workers at once; they would see it at their next heartbeat anyway."""
        subject = self._names.cancellation_subject(function_name)
        await self._requests.publish(subject, invocation_id.encode())


class JetStreamOutcomeStream:
    """Implements the port OutcomeStream."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._names = names

    async def publish(self, key: str, record: InvocationRecord) -> None:
        """Tell how a final record has ended; the streams drop second copies by their id."""
        for each in final_messages(self._names, key, record):
            headers = {"Nats-Msg-Id": each.message_id}
            await self._requests.request_as(PublishAck, each.subject, each.data, headers)
