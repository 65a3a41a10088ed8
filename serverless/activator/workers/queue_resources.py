"""The consumer and the body bucket of a function, which its workers need."""

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
    """Creates and deletes the consumer and the body bucket of functions."""

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
        """Create or update what is missing; return the consumer once a poll has listed it."""
        name = function.metadata.name
        consumer = self._queue_depths.get(name)
        config = consumer_config(self._queue_names, name, function.spec.max_workers)
        if consumer is None or consumer.max_waiting != config["max_waiting"]:
            await ensure_consumer(self._jetstream, self._queue_names.invocations_stream, config)
        if self._bucket_owners.get(name) != function.metadata.uid:
            bucket = body_bucket_config(self._queue_names, self._limits, name)
            await create_stream(self._jetstream, bucket)
            self._bucket_owners[name] = function.metadata.uid
        return consumer

    async def delete(self, function_name: str) -> None:
        """Delete the consumer and the bucket; only if no invocation is open."""
        stream = self._queue_names.invocations_stream
        await delete_consumer(self._jetstream, stream, consumer_name(function_name))
        await delete_stream(self._jetstream, self._bucket_stream(function_name))
        self._bucket_owners.pop(function_name, None)

    def missing_buckets(self, existing_streams: Set[str]) -> list[str]:
        """Return the functions without a bucket; their next reconcile creates it."""
        known = tuple(self._bucket_owners)
        missing = [name for name in known if self._bucket_stream(name) not in existing_streams]
        for name in missing:
            del self._bucket_owners[name]
        return missing

    def has_consumer(self, function_name: str) -> bool:
        """Whether the last poll has listed a consumer of the function."""
        return self._queue_depths.get(function_name) is not None

    def _bucket_stream(self, function_name: str) -> str:
        return f"OBJ_{self._queue_names.body_bucket_name(function_name)}"
