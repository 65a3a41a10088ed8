"""Crashes and cut-off connections of an API process at every queue call of an invocation."""

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
from apiserver.invocations.accept import InvocationAcceptor
from apiserver.invocations.backpressure import RecordSpace
from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.service import InvocationService, stream_bytes
from apiserver.invocations.submission import AcceptanceUnknownError
from apiserver.nats.batches import BatchReader
from apiserver.nats.errors import QueueError
from apiserver.nats.jetstream import JetStream, create_ports
from apiserver.nats.object_store import JetStreamBodyStore
from hack.cluster.control_plane import ControlPlane
from shared.invocation.message import call_message, decode_outcome
from shared.invocation.queue_names import QueueNames, record_key
from shared.invocation.record import InvocationRecord
from shared.invocation.state import FINAL_STATES, InvocationState
from shared.invocation.streams import StreamLimits
from shared.v1alpha1.group import API_VERSION
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    new_isolated_installation,
)
from tests.support.cluster.kube_gateway import open_gateway
from tests.support.cluster.running_product import new_name
from tests.support.faults.fault_at_nth_call import FaultAtCall
from tests.support.faults.faulty_gateway import CallFault, ProcessKilled
from tests.support.faults.faulty_jetstream_requests import REQUEST_FAULTS, FaultyJetStreamRequests
from tests.support.queue.invocation_api import begin_run, connect_jetstream, succeed_with
from tests.support.queue.nats_server import new_nats_server

NAMES, DAY_SECONDS = QueueNames(), 24 * 3600.0
LARGE = b"x" * 300_000

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class ApiProcess:
    """The services of invocations in one process."""

    acceptor: InvocationAcceptor
    service: InvocationService


@dataclass(frozen=True)
class InvocationSteps:
    """A function, a real queue, and as many processes as a test needs."""

    jetstream: JetStream
    lookup: FunctionLookup
    name: str

    def process(self, fault: Callable[[], CallFault] = lambda: CallFault.NONE) -> ApiProcess:
        """Create the services of one more process, with a fault at its queue calls."""
        clock, caller = SystemClock(), FaultyJetStreamRequests(self.jetstream.connection, fault)
        bodies = JetStreamBodyStore(caller, NAMES, StreamLimits(), new_id, clock.now)
        queue = create_ports(caller, NAMES, bodies, self.jetstream.record_changes)
        metrics = InvocationMetrics(CollectorRegistry())
        space = RecordSpace(queue, clock)
        return ApiProcess(
            InvocationAcceptor(queue, self.lookup, space, metrics, clock, new_id, DAY_SECONDS),
            InvocationService(queue, self.lookup, space, metrics, clock),
        )

    async def record(self, invocation_id: str) -> tuple[InvocationRecord | None, int]:
        """Return the record and its revision, as the queue holds it."""
        stored = await self.jetstream.ports.records.find(record_key(self.name, invocation_id))
        return (stored.record, stored.revision) if stored else (None, 0)

    async def end(self, invocation_id: str) -> None:
        """Finish the invocation as a worker does, but publish nothing."""
        record, revision = await self.record(invocation_id)
        assert record is not None
        for step in (begin_run, succeed_with(b"done")):
            record = step(record)
            revision = await self.jetstream.ports.records.put(
                record_key(self.name, invocation_id), record, revision
            )

    async def published_outcomes(self) -> set[tuple[str, int, InvocationState]]:
        """Return every outcome in the stream of results."""
        batches = BatchReader(
            FaultyJetStreamRequests(self.jetstream.connection, lambda: CallFault.NONE)
        )
        subject = NAMES.result_subject(self.name)
        messages = [
            message async for message in batches.iter_messages(NAMES.results_stream, subject, 64)
        ]
        outcomes = [decode_outcome(message.data) for message in messages]
        return {(outcome.invocation_id, outcome.run, outcome.state) for outcome in outcomes}


def new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True)
class ApiAndQueue:
    """An installation and a queue, which all tests of the file share."""

    installation: IsolatedInstallation
    jetstream: JetStream
    lookup: FunctionLookup


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api_and_queue(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ApiAndQueue]:
    """Start a real API server and a real queue."""
    async with (
        new_isolated_installation(installed_control_plane) as installation,
        new_nats_server(tmp_path_factory.mktemp("queue")) as server,
        connect_jetstream(NATSConfig(url=server.admin_url)) as jetstream,
        open_gateway(installation.api_kubeconfig) as gateway,
    ):
        lookup = FunctionLookup(gateway, installation.namespaces.instance, SystemClock())
        yield ApiAndQueue(installation, jetstream, lookup)


@pytest_asyncio.fixture(loop_scope="module")
async def steps(api_and_queue: ApiAndQueue) -> InvocationSteps:
    """Create a new function for the test."""
    name = new_name("echo")
    spec = {"specName": "g1.1", "image": "example/echo:1", "maxWorkers": 1}
    body = {"apiVersion": API_VERSION, "kind": "Function", "metadata": {"name": name}, "spec": spec}
    await api_and_queue.installation.create("functions", body)
    return InvocationSteps(api_and_queue.jetstream, api_and_queue.lookup, name)


async def fault_every_call(
    steps: InvocationSteps,
    fault: CallFault,
    action: Callable[[ApiProcess, str], Awaitable[object]],
) -> AsyncIterator[tuple[str, object]]:
    """Repeat an action with a fault at the nth call, for every n; return the results."""
    for call_number in itertools.count(1):
        fault_at_call, key = FaultAtCall(call_number, fault), f"{fault.name.lower()}-{call_number}"
        yield key, await error_or_result(action(steps.process(fault_at_call), key))
        if not fault_at_call.was_injected:
            return


async def error_or_result(action: Awaitable[object]) -> object:
    try:
        return await action
    except (ServiceError, QueueError, ProcessKilled) as error:
        return error


@pytest.mark.parametrize("payload", [b"small", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("fault", REQUEST_FAULTS, ids=lambda fault: fault.name.lower())
async def test_an_interrupted_accept_is_complete_or_absent_and_can_be_repeated(
    steps: InvocationSteps, fault: CallFault, payload: bytes
) -> None:
    async def accept(process: ApiProcess, key: str) -> object:
        command = Invoke(function_name=steps.name, invocation_id=key)
        return await process.acceptor.accept(
            await process.acceptor.receive_payload(command, stream_bytes(payload))
        )

    accepted = 0
    async for key, result in fault_every_call(steps, fault, accept):
        record, _ = await steps.record(key)
        is_unknown = isinstance(result, AcceptanceUnknownError | ProcessKilled)
        if isinstance(result, ServiceError | QueueError) and not is_unknown:
            assert record is None, f"{result} was raised, but there is a record"
        elif not is_unknown:
            assert record is not None
            accepted += 1
        await accept(steps.process(), key)
        record, _ = await steps.record(key)
        assert record is not None
        assert (record.state, record.run) == (InvocationState.QUEUED, 1)
        await steps.jetstream.ports.calls.publish(
            call_message(steps.name, key, record)
        )  # as the sweep does
        await steps.jetstream.ports.calls.remove(call_message(steps.name, key, record))
        assert await steps.jetstream.ports.calls.count_unfinished(steps.name) == 0, (
            "it was queued more than once"
        )
        body = record.request.body
        if body.object_name:
            chunks = steps.jetstream.ports.bodies.get(steps.name, body.object_name)
            assert b"".join([chunk async for chunk in chunks]) == payload
    assert accepted >= 1


@pytest.mark.parametrize("fault", REQUEST_FAULTS, ids=lambda fault: fault.name.lower())
async def test_an_interrupted_cancel_leaves_a_message_or_a_final_record(
    steps: InvocationSteps, fault: CallFault
) -> None:
    async def cancel(process: ApiProcess, key: str) -> object:
        await enqueue(steps, key)
        return await process.service.cancel(steps.name, key)

    async for key, result in fault_every_call(steps, fault, cancel):
        record, _ = await steps.record(key)
        assert record is not None
        assert record.state in (InvocationState.QUEUED, InvocationState.CANCELLED)
        if isinstance(result, Invocation):
            assert record.state is InvocationState.CANCELLED
        if record.state is InvocationState.QUEUED:
            await steps.process().service.cancel(steps.name, key)
        if record.published:
            assert (key, 1, InvocationState.CANCELLED) in await steps.published_outcomes()
        elif record.is_final:
            assert (key, 1, InvocationState.SUCCEEDED) not in await steps.published_outcomes()


@pytest.mark.parametrize("fault", REQUEST_FAULTS, ids=lambda fault: fault.name.lower())
async def test_an_interrupted_redrive_never_loses_the_previous_outcome(
    steps: InvocationSteps, fault: CallFault
) -> None:
    async def redrive(process: ApiProcess, key: str) -> object:
        await enqueue(steps, key)
        await steps.end(key)
        return await process.service.redrive(steps.name, key)

    async for key, result in fault_every_call(steps, fault, redrive):
        record, _ = await steps.record(key)
        assert record is not None
        assert (record.run, record.state) in (
            (1, InvocationState.SUCCEEDED),
            (2, InvocationState.QUEUED),
        )
        if isinstance(result, Invocation):
            assert record.run == 2
        if record.run == 2:
            assert (key, 1, InvocationState.SUCCEEDED) in await steps.published_outcomes()
        else:
            redriven = await steps.process().service.redrive(steps.name, key)
            assert (redriven.record.run, redriven.record.state in FINAL_STATES) == (2, False)


async def enqueue(steps: InvocationSteps, key: str) -> None:
    process = steps.process()
    command = Invoke(function_name=steps.name, invocation_id=key)
    await process.acceptor.accept(
        await process.acceptor.receive_payload(command, stream_bytes(b"p"))
    )
