"""A payload that is still on its way while its function is deleted."""

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
from apiserver.functions.lookup import SECONDS, FunctionLookup
from apiserver.invocations.accept import Ingress
from apiserver.invocations.commands import Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.submission import Acceptance
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import StreamAbsentError
from apiserver.nats.port import Queue
from shared.invocation.limits import INLINE_BYTES
from shared.invocation.queue_names import record_key
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.function import Function, FunctionSpec
from tests.support.clocks.virtual_clock import VirtualClock
from tests.support.queue.invocation_api import connected
from tests.support.queue.nats_server import new_queue

DAY, HALF, LARGE = 24 * 3600.0, b"x" * (INLINE_BYTES // 2), b"x" * (INLINE_BYTES * 2)
NAME, BUCKET = "echo", "OBJ_runtime-bodies-echo"
STANDS = Function(
    metadata=ObjectMeta(name=NAME, uid="first"),
    spec=FunctionSpec(spec_name="g1.1", image="example/echo:1"),
)
GOES = replace(STANDS, metadata=replace(STANDS.metadata, deletion_timestamp="2026-11-16T00:00:00Z"))
ANOTHER = replace(STANDS, metadata=replace(STANDS.metadata, uid="second"))


@dataclass
class Cluster:
    """What Kubernetes says of the one function."""

    function: Function | None = STANDS

    async def get(self, *_: object) -> Function:
        if self.function is None:
            raise kube_errors.AbsentError("there is no such function")
        return self.function


@dataclass(frozen=True)
class Scene:
    """A cluster, an API process with a real queue, and whoever looks at that."""

    cluster: Cluster
    ingress: Ingress
    queue: Queue
    streams: JetStreamContext
    clock: VirtualClock

    async def send(self, *pieces: bytes | Function | None) -> Acceptance:
        """One payload; a function among its pieces is what Kubernetes has from then on.

        None is one that is gone, and the activator has taken its bucket away.
        """
        command = Invoke(request_id=NAME, invocation_id="slow")
        return await self.ingress.accept(await self.ingress.receive(command, self._sent(pieces)))

    async def _sent(self, pieces: tuple[bytes | Function | None, ...]) -> AsyncIterator[bytes]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            self.cluster.function = piece
            self.clock.move(SECONDS)
            if piece is None and await self.has_bucket():
                await self.streams.delete_stream(BUCKET)

    async def has_bucket(self) -> bool:
        return BUCKET in [each.config.name for each in await self.streams.streams_info()]

    async def kept(self) -> int:
        """How many messages the bucket of bodies has."""
        return (await self.streams.stream_info(BUCKET)).state.messages

    async def has_record(self) -> bool:
        return await self.queue.records.find(record_key(NAME, "slow")) is not None


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A function that stands, and nothing in its queue."""
    async with (
        new_queue(tmp_path / "queue") as server,
        connected(NATSConfig(url=server.admin_url)) as jetstream,
        await nats.connect(server.admin_url) as client,
    ):
        cluster, clock = Cluster(), VirtualClock()
        objects: Any = cluster  # a lookup asks for no more
        lookup = FunctionLookup(objects, "any", clock)
        metrics = InvocationMetrics(CollectorRegistry())
        ingress = Ingress(jetstream.queue, lookup, metrics, clock, lambda: uuid4().hex, DAY)
        yield Scene(cluster, ingress, jetstream.queue, client.jetstream(), clock)


async def test_a_slow_payload_of_a_function_that_stands_is_accepted(scene: Scene) -> None:
    assert (await scene.send(HALF, STANDS, LARGE, STANDS, HALF, STANDS)).is_new
    assert await scene.has_record()


@pytest.mark.parametrize(
    ("fate", "refusal"),
    [(None, NotFoundError), (GOES, ConflictError), (ANOTHER, ConflictError)],
    ids=["gone", "going", "another"],
)
async def test_no_bucket_is_made_for_a_function_that_has_gone_meanwhile(
    scene: Scene, fate: Function | None, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        await scene.send(HALF, fate, LARGE)
    assert not await scene.has_record()
    assert not await scene.has_bucket()


@pytest.mark.parametrize("fate", [GOES, ANOTHER], ids=["going", "another"])
async def test_a_payload_that_comes_too_late_is_discarded(scene: Scene, fate: Function) -> None:
    with pytest.raises(ConflictError):
        await scene.send(LARGE, fate)
    assert not await scene.has_record()
    assert not await scene.kept()


async def test_a_small_payload_that_comes_too_late_is_refused(scene: Scene) -> None:
    with pytest.raises(NotFoundError):
        await scene.send(HALF, None)
    assert not await scene.has_record()


async def test_a_bucket_that_has_gone_under_a_payload_is_not_made_again(scene: Scene) -> None:
    with pytest.raises(StreamAbsentError):
        await scene.send(LARGE, None, LARGE)
    assert not await scene.has_record()
    assert not await scene.has_bucket()
