"""A payload whose upload is still running while its function is deleted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import nats
import pytest
from msgspec.structs import replace
from nats.js.client import JetStreamContext
from prometheus_client import CollectorRegistry

from apiserver.config import NATSConfig
from apiserver.errors import ConflictError, NotFoundError
from apiserver.functions.lookup import CACHE_SECONDS, FunctionLookup
from apiserver.invocations.accept import InvocationAcceptor
from apiserver.invocations.backpressure import RecordSpace
from apiserver.invocations.commands import Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.submission import Acceptance
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import StreamNotFoundError
from apiserver.nats.port import QueuePorts
from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.queue_names import record_key
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.function import Function, FunctionSpec
from tests.support.clocks.virtual_clock import VirtualClock
from tests.support.queue.invocation_api import connect_jetstream
from tests.support.queue.nats_server import new_nats_server

DAY_SECONDS, HALF_INLINE, LARGE = (
    24 * 3600.0,
    b"x" * (DEFAULT_INLINE_BYTES // 2),
    b"x" * (DEFAULT_INLINE_BYTES * 2),
)
NAME, BUCKET = "echo", "OBJ_runtime-bodies-echo"
EXISTING = Function(
    metadata=ObjectMeta(name=NAME, uid="first"),
    spec=FunctionSpec(spec_name="g1.1", image="example/echo:1"),
)
DELETING = replace(
    EXISTING, metadata=replace(EXISTING.metadata, deletion_timestamp="2026-11-16T00:00:00Z")
)
RECREATED = replace(EXISTING, metadata=replace(EXISTING.metadata, uid="second"))


@dataclass
class Cluster:
    """A cluster that returns its one function."""

    function: Function | None = EXISTING

    async def get(self, *_: object) -> Function:
        if self.function is None:
            raise kube_errors.NotFoundError("there is no such function")
        return self.function


@dataclass(frozen=True)
class UploadFixture:
    """A cluster, an API process with a real queue, and a connection to inspect the queue."""

    cluster: Cluster
    acceptor: InvocationAcceptor
    queue: QueuePorts
    streams: JetStreamContext
    clock: VirtualClock

    async def send(self, *pieces: bytes | Function | None) -> Acceptance:
        """Send one payload; a function among its pieces replaces the function in Kubernetes from
        then on.

        None deletes the function and its bucket, as the activator does.
        """
        command = Invoke(function_name=NAME, invocation_id="slow")
        return await self.acceptor.accept(
            await self.acceptor.receive_payload(command, self._sent(pieces))
        )

    async def _sent(self, pieces: tuple[bytes | Function | None, ...]) -> AsyncIterator[bytes]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            self.cluster.function = piece
            self.clock.advance_timers(CACHE_SECONDS)
            if piece is None and await self.has_bucket():
                await self.streams.delete_stream(BUCKET)

    async def has_bucket(self) -> bool:
        return BUCKET in [stream.config.name for stream in await self.streams.streams_info()]

    async def count_stored(self) -> int:
        """Return how many messages the bucket of bodies has."""
        return (await self.streams.stream_info(BUCKET)).state.messages

    async def has_record(self) -> bool:
        return await self.queue.records.find(record_key(NAME, "slow")) is not None


@pytest.fixture
async def upload(tmp_path: Path) -> AsyncIterator[UploadFixture]:
    """Create a function with an empty queue."""
    async with (
        new_nats_server(tmp_path / "queue") as server,
        connect_jetstream(NATSConfig(url=server.admin_url)) as jetstream,
        await nats.connect(server.admin_url) as client,
    ):
        cluster, clock = Cluster(), VirtualClock()
        objects: Any = cluster  # a lookup needs only these methods
        lookup = FunctionLookup(objects, "any", clock)
        metrics = InvocationMetrics(CollectorRegistry())
        space = RecordSpace(jetstream.ports, clock)
        acceptor = InvocationAcceptor(
            jetstream.ports, lookup, space, metrics, clock, lambda: uuid4().hex, DAY_SECONDS
        )
        yield UploadFixture(cluster, acceptor, jetstream.ports, client.jetstream(), clock)


async def test_a_slow_payload_of_an_existing_function_is_accepted(upload: UploadFixture) -> None:
    assert (await upload.send(HALF_INLINE, EXISTING, LARGE, EXISTING, HALF_INLINE, EXISTING)).is_new
    assert await upload.has_record()


@pytest.mark.parametrize(
    ("function_after", "error_type"),
    [(None, NotFoundError), (DELETING, ConflictError), (RECREATED, ConflictError)],
    ids=["deleted", "deleting", "recreated"],
)
async def test_no_bucket_is_created_for_a_function_deleted_during_the_upload(
    upload: UploadFixture, function_after: Function | None, error_type: type[Exception]
) -> None:
    with pytest.raises(error_type):
        await upload.send(HALF_INLINE, function_after, LARGE)
    assert not await upload.has_record()
    assert not await upload.has_bucket()


@pytest.mark.parametrize("function_after", [DELETING, RECREATED], ids=["deleting", "recreated"])
async def test_a_payload_that_ends_after_the_deletion_of_its_function_is_discarded(
    upload: UploadFixture, function_after: Function
) -> None:
    with pytest.raises(ConflictError):
        await upload.send(LARGE, function_after)
    assert not await upload.has_record()
    assert not await upload.count_stored()


async def test_a_small_payload_that_ends_after_the_deletion_of_its_function_is_refused(
    upload: UploadFixture,
) -> None:
    with pytest.raises(NotFoundError):
        await upload.send(HALF_INLINE, None)
    assert not await upload.has_record()


async def test_a_bucket_deleted_during_the_upload_is_not_recreated(
    upload: UploadFixture,
) -> None:
    with pytest.raises(StreamNotFoundError):
        await upload.send(LARGE, None, LARGE)
    assert not await upload.has_record()
    assert not await upload.has_bucket()
