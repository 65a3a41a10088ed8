"""An API process that dies, or is cut off, at every call that an invocation makes of the queue."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry

from apiserver.clock import SystemClock
from apiserver.config import NATSConfig
from apiserver.errors import ServiceError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.accept import Ingress
from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.service import InvocationService, once
from apiserver.invocations.submission import UnknownOutcomeError
from apiserver.nats.batches import BatchReader
from apiserver.nats.errors import QueueError
from apiserver.nats.jetstream import JetStream, queue_on
from apiserver.nats.object_store import BodyBuckets
from hack.cluster.control_plane import ControlPlane
from shared.invocation.message import call_of, decode_outcome
from shared.invocation.queue_names import QueueNames, record_key
from shared.invocation.record import Record
from shared.invocation.state import FINAL, State
from shared.invocation.streams import StreamLimits
from shared.v1alpha1.group import API_VERSION
from tests.support.cluster.isolated_installation import Site, new_site
from tests.support.cluster.kube_gateway import gateway_of
from tests.support.cluster.running_product import new_name
from tests.support.faults.fault_at_nth_call import Strike
from tests.support.faults.faulty_gateway import Fault, Killed
from tests.support.faults.faulty_jetstream_requests import FAULTS, FaultyCaller
from tests.support.queue.invocation_api import begin, connected, succeeded_with
from tests.support.queue.nats_server import new_queue

NAMES, DAY = QueueNames(), 24 * 3600.0
LARGE = b"x" * 300_000

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class World:
    """A function, a real queue, and as many processes as a test needs."""

    jetstream: JetStream
    lookup: FunctionLookup
    name: str

    def process(self, fault: Callable[[], Fault] = lambda: Fault.NONE) -> InvocationService:
        """The use cases of one more process, to whose calls something may happen."""
        clock, caller = SystemClock(), FaultyCaller(self.jetstream.connection, fault)
        bodies = BodyBuckets(caller, NAMES, StreamLimits(), new_id, clock.now)
        queue = queue_on(caller, NAMES, bodies, self.jetstream.wakes)
        metrics = InvocationMetrics(CollectorRegistry())
        ingress = Ingress(queue, self.lookup, metrics, clock, new_id, DAY)
        return InvocationService(queue, ingress, self.lookup, metrics, clock)

    async def record(self, invocation_id: str) -> tuple[Record | None, int]:
        """The record and its revision, as the queue holds it."""
        kept = await self.jetstream.queue.records.find(record_key(self.name, invocation_id))
        return (kept.record, kept.revision) if kept else (None, 0)

    async def end(self, invocation_id: str) -> None:
        """What a worker does, without telling anybody."""
        record, revision = await self.record(invocation_id)
        assert record is not None
        for step in (begin, succeeded_with(b"done")):
            record = step(record)
            revision = await self.jetstream.queue.records.write(
                record_key(self.name, invocation_id), record, revision
            )

    async def told(self) -> set[tuple[str, int, State]]:
        """Every outcome in the stream of results."""
        batches = BatchReader(FaultyCaller(self.jetstream.connection, lambda: Fault.NONE))
        subject = NAMES.result_subject(self.name)
        found = [each async for each in batches.all(NAMES.results_stream, subject, 64)]
        outcomes = [decode_outcome(each.data) for each in found]
        return {(each.invocation_id, each.run, each.state) for each in outcomes}


def new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True)
class Ground:
    """A site and a queue, which all tests of the file share."""

    site: Site
    jetstream: JetStream
    lookup: FunctionLookup


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ground(
    installed: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ground]:
    """A real API server and a real queue."""
    async with (
        new_site(installed) as site,
        new_queue(tmp_path_factory.mktemp("queue")) as server,
        connected(NATSConfig(url=server.admin_url)) as jetstream,
        gateway_of(site.api_kubeconfig) as gateway,
    ):
        lookup = FunctionLookup(gateway, site.namespaces.instance, SystemClock())
        yield Ground(site, jetstream, lookup)


@pytest_asyncio.fixture(loop_scope="module")
async def world(ground: Ground) -> World:
    """A function of its own."""
    name = new_name("echo")
    spec = {"specName": "g1.1", "image": "example/echo:1", "maxWorkers": 1}
    body = {"apiVersion": API_VERSION, "kind": "Function", "metadata": {"name": name}, "spec": spec}
    await ground.site.create("functions", body)
    return World(ground.jetstream, ground.lookup, name)


async def strike_all(
    world: World, fault: Fault, act: Callable[[InvocationService, str], Awaitable[object]]
) -> AsyncIterator[tuple[str, object]]:
    """What came of an act whose nth call was struck, for every n that there is."""
    for at in itertools.count(1):
        strike, key = Strike(at, fault), f"{fault.name.lower()}-{at}"
        yield key, await ended(act(world.process(strike), key))
        if not strike.has_come:
            return


async def ended(work: Awaitable[object]) -> object:
    try:
        return await work
    except (ServiceError, QueueError, Killed) as error:
        return error


@pytest.mark.parametrize("payload", [b"small", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name.lower())
async def test_a_struck_acceptance_is_whole_or_nothing_and_can_be_repeated(
    world: World, fault: Fault, payload: bytes
) -> None:
    async def accept(process: InvocationService, key: str) -> object:
        command = Invoke(request_id=world.name, invocation_id=key)
        return await process.accept(await process.receive(command, once(payload)))

    accepted = 0
    async for key, answer in strike_all(world, fault, accept):
        record, _ = await world.record(key)
        is_unknown = isinstance(answer, UnknownOutcomeError | Killed)
        if isinstance(answer, ServiceError | QueueError) and not is_unknown:
            assert record is None, f"{answer} was said, and there is a record"
        elif not is_unknown:
            assert record is not None
            accepted += 1
        await accept(world.process(), key)
        record, _ = await world.record(key)
        assert record is not None
        assert (record.state, record.run) == (State.QUEUED, 1)
        await world.jetstream.queue.calls.publish(
            call_of(world.name, key, record)
        )  # as the sweep does
        await world.jetstream.queue.calls.withdraw(call_of(world.name, key, record))
        assert await world.jetstream.queue.calls.held(world.name) == 0, (
            "it was queued more than once"
        )
        body = record.request.body
        if body.object_name:
            chunks = world.jetstream.queue.bodies.get(world.name, body.object_name)
            assert b"".join([chunk async for chunk in chunks]) == payload
    assert accepted >= 1


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name.lower())
async def test_a_struck_cancel_leaves_a_message_or_an_end(world: World, fault: Fault) -> None:
    async def cancel(process: InvocationService, key: str) -> object:
        await queued(world, key)
        return await process.cancel(world.name, key)

    async for key, answer in strike_all(world, fault, cancel):
        record, _ = await world.record(key)
        assert record is not None
        assert record.state in (State.QUEUED, State.CANCELLED)
        if isinstance(answer, Invocation):
            assert record.state is State.CANCELLED
        if record.state is State.QUEUED:
            await world.process().cancel(world.name, key)
        if record.published:
            assert (key, 1, State.CANCELLED) in await world.told()
        elif record.is_final:
            assert (key, 1, State.SUCCEEDED) not in await world.told()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name.lower())
async def test_a_struck_redrive_never_forgets_the_outcome_before(
    world: World, fault: Fault
) -> None:
    async def redrive(process: InvocationService, key: str) -> object:
        await queued(world, key)
        await world.end(key)
        return await process.redrive(world.name, key)

    async for key, answer in strike_all(world, fault, redrive):
        record, _ = await world.record(key)
        assert record is not None
        assert (record.run, record.state) in ((1, State.SUCCEEDED), (2, State.QUEUED))
        if isinstance(answer, Invocation):
            assert record.run == 2
        if record.run == 2:
            assert (key, 1, State.SUCCEEDED) in await world.told()
        else:
            again = await world.process().redrive(world.name, key)
            assert (again.record.run, again.record.state in FINAL) == (2, False)


async def queued(world: World, key: str) -> None:
    process = world.process()
    command = Invoke(request_id=world.name, invocation_id=key)
    await process.accept(await process.receive(command, once(b"p")))
