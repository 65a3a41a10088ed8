"""What a function has at the queue and beside it before its first worker starts."""

from collections.abc import Set

from serverless.activator.queue_depths import ConsumerState, QueueDepths
from serverless.nats.requests import JetStreamClient
from serverless.nats.stream_setup import (
    create_stream,
    delete_consumer,
    delete_stream,
    ensure_consumer,
)
from shared.invocation.queue_names import QueueNames, consumer_name
from shared.invocation.streams import StreamLimits, body_bucket_config, consumer_config
from shared.v1alpha1.function import Function


class QueueResources:
    """Its consumer, the bucket of its bodies, and the Secret of its workers."""

    def __init__(
        self,
        jetstream: JetStreamClient,
        queue_names: QueueNames,
        limits: StreamLimits,
        queue_depths: QueueDepths,
    ) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names
        self._limits = limits
        self._queue_depths = queue_depths
        self._bucket_owners: dict[str, str] = {}

    async def ensure(self, function: Function) -> ConsumerState | None:
        """Make what is missing at the queue; the consumer, once the next look has seen it."""
        request_id, seen = function.metadata.name, self._queue_depths.get(function.metadata.name)
        wanted = consumer_config(self._queue_names, request_id, function.spec.max_workers)
        if seen is None or seen.max_waiting != wanted["max_waiting"]:
            await ensure_consumer(self._jetstream, self._queue_names.invocations_stream, wanted)
        if self._bucket_owners.get(request_id) != function.metadata.uid:
            bucket = body_bucket_config(self._queue_names, self._limits, request_id)
            await create_stream(self._jetstream, bucket)
            self._bucket_owners[request_id] = function.metadata.uid
        return seen

    async def delete(self, function_name: str) -> None:
        """Take away what a function has at the queue; only once nothing of it is open."""
        stream = self._queue_names.invocations_stream
        await delete_consumer(self._jetstream, stream, consumer_name(function_name))
        await delete_stream(self._jetstream, self._bucket_stream(function_name))
        self._bucket_owners.pop(function_name, None)

    def missing_buckets(self, existing_streams: Set[str]) -> list[str]:
        """The functions whose bucket is not among the streams; it is made at their next turn."""
        known = tuple(self._bucket_owners)
        lost = [each for each in known if self._bucket_stream(each) not in existing_streams]
        for request_id in lost:
            del self._bucket_owners[request_id]
        return lost

    def has_consumer(self, function_name: str) -> bool:
        """Whether the last look has shown a consumer of that name."""
        return self._queue_depths.get(function_name) is not None

    def _bucket_stream(self, function_name: str) -> str:
        return f"OBJ_{self._queue_names.body_bucket_name(function_name)}"
