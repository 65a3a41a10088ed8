"""What a function has at the queue and beside it before its first worker starts."""

from collections.abc import Set

from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.errors import NotFoundError
from controller.runtime.key import ObjectKey
from serverless.activator.auth.worker_credentials import secret, secret_data
from serverless.activator.kinds import SECRETS
from serverless.activator.queue_depths import Consumer, Depths
from serverless.nats.requests import JetStream
from serverless.nats.stream_setup import (
    create_stream,
    delete_consumer,
    delete_stream,
    ensure_consumer,
)
from shared.invocation.queue_names import QueueNames, consumer_of
from shared.invocation.streams import StreamLimits, body_bucket, consumer
from shared.v1alpha1 import names as object_names
from shared.v1alpha1.function import Function


class Outfit:
    """Its consumer, the bucket of its bodies, and the Secret of its workers."""

    def __init__(
        self, jetstream: JetStream, names: QueueNames, limits: StreamLimits, depths: Depths
    ) -> None:
        self._jetstream = jetstream
        self._names = names
        self._limits = limits
        self._depths = depths
        self._bucketed: dict[str, str] = {}

    async def ensure(self, function: Function) -> Consumer | None:
        """Make what is missing at the queue; the consumer, once the next look has seen it."""
        request_id, seen = function.metadata.name, self._depths.of(function.metadata.name)
        wanted = consumer(self._names, request_id, function.spec.max_workers)
        if seen is None or seen.max_waiting != wanted["max_waiting"]:
            await ensure_consumer(self._jetstream, self._names.invocations_stream, wanted)
        if self._bucketed.get(request_id) != function.metadata.uid:
            bucket = body_bucket(self._names, self._limits, request_id)
            await create_stream(self._jetstream, bucket)
            self._bucketed[request_id] = function.metadata.uid
        return seen

    async def remove(self, request_id: str) -> None:
        """Take away what a function has at the queue; only once nothing of it is open."""
        stream = self._names.invocations_stream
        await delete_consumer(self._jetstream, stream, consumer_of(request_id))
        await delete_stream(self._jetstream, self._bucket_stream(request_id))
        self._bucketed.pop(request_id, None)

    def bereft(self, there: Set[str]) -> list[str]:
        """The functions whose bucket is not among the streams; it is made at their next turn."""
        known = tuple(self._bucketed)
        lost = [each for each in known if self._bucket_stream(each) not in there]
        for request_id in lost:
            del self._bucketed[request_id]
        return lost

    def is_left(self, request_id: str) -> bool:
        """Whether the last look has shown a consumer of that name."""
        return self._depths.of(request_id) is not None

    def _bucket_stream(self, request_id: str) -> str:
        return f"OBJ_{self._names.bodies_of(request_id)}"


class WorkerSecrets:
    """The Secrets with which workers reach the queue, written where they differ."""

    def __init__(self, client: Client, writer: Writer, url: str, key: bytes) -> None:
        self._client = client
        self._writer = writer
        self._url = url
        self._key = key
        self._written: dict[str, str] = {}

    async def ensure_once(self, function: Function) -> None:
        """Look at the Secret of a function that was not looked at before."""
        if self._written.get(function.metadata.name) != function.metadata.uid:
            await self.ensure(function)
            self._written[function.metadata.name] = function.metadata.uid

    def forget(self, request_id: str) -> None:
        """Keep nothing of a function that is gone."""
        self._written.pop(request_id, None)

    async def ensure(self, function: Function) -> None:
        """Make the Secret of a function what it shall be."""
        meta, data = function.metadata, secret_data(function, self._url, self._key)
        key = ObjectKey(meta.namespace, object_names.queue_secret(meta.name))
        try:
            live = await self._client.get(SECRETS, key)
        except NotFoundError:
            live = None
        owners = () if live is None else live.metadata.owner_references
        is_right = live is not None and live.data == data
        if not is_right or meta.uid not in {each.uid for each in owners}:
            await self._writer.apply(SECRETS, secret(function, data))
