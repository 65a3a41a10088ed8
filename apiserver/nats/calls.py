"""The work queue of calls and the stream of outcomes."""

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

_OFFSET_PAST_SUBJECTS = 2**31  # past the last subject, to get their number but no names


class JetStreamCallQueue:
    """The CallQueue in JetStream."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._names = names

    async def publish(self, call: CallMessage) -> None:
        """Queue a call, unless its subject holds one: the same call, or one that excludes it."""
        subject = self._names.call_subject(call.function_name, call.invocation_id)
        try:
            await self._requests.request_as(PublishAck, subject, messages.encode_message(call))
        except AlreadyStoredError:
            return

    async def remove(self, call: CallMessage) -> None:
        """Remove the message of this run by its sequence: the subject may hold another run."""
        stream = self._names.invocations_stream
        subject = self._names.call_subject(call.function_name, call.invocation_id)
        get_request = msgspec.json.encode({"last_by_subj": subject})
        try:
            reply = await self._requests.request_as(
                MessageGetReply, f"$JS.API.STREAM.MSG.GET.{stream}", get_request
            )
            stored = reply.message
            if stored is None or stored.data != messages.encode_message(call):
                return
            delete_request = msgspec.json.encode({"seq": stored.seq, "no_erase": True})
            await self._requests.request_as(
                JetStreamReply, f"$JS.API.STREAM.MSG.DELETE.{stream}", delete_request
            )
        except QueueItemNotFoundError:
            return  # a worker has acknowledged it

    async def count_pending(self, function_name: str) -> int:
        """Count the calls that no worker has received; all of them if there is no consumer yet."""
        stream = self._names.invocations_stream
        subject = f"$JS.API.CONSUMER.INFO.{stream}.{consumer_name(function_name)}"
        try:
            return (await self._requests.request_as(ConsumerInfo, subject)).num_pending
        except QueueItemNotFoundError:
            return await self.count_unfinished(function_name)

    async def count_unfinished(self, function_name: str) -> int:
        """Count the queued and running calls: each has a message until it is final."""
        request = {
            "subjects_filter": self._names.call_filter(function_name),
            "offset": _OFFSET_PAST_SUBJECTS,
        }
        subject = f"$JS.API.STREAM.INFO.{self._names.invocations_stream}"
        return (
            await self._requests.request_as(StreamInfo, subject, msgspec.json.encode(request))
        ).total

    async def count_all_unfinished(self) -> int:
        """Count the queued and running calls of all functions."""
        subject = f"$JS.API.STREAM.INFO.{self._names.invocations_stream}"
        return (await self._requests.request_as(StreamInfo, subject)).state.messages

    async def notify_cancelled(self, function_name: str, invocation_id: str) -> None:
        """Notify the workers at once; otherwise they notice it at their next heartbeat."""
        subject = self._names.cancellation_subject(function_name)
        await self._requests.publish(subject, invocation_id.encode())


class JetStreamOutcomeStream:
    """The OutcomeStream in JetStream."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._names = names

    async def publish(self, key: str, record: InvocationRecord) -> None:
        """Publish the outcome of a final record; the streams drop duplicates by message id."""
        for message in final_messages(self._names, key, record):
            headers = {"Nats-Msg-Id": message.message_id}
            await self._requests.request_as(PublishAck, message.subject, message.data, headers)
