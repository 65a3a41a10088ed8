"""What only the leading activator does: reconcile functions, look at the queue, and sweep."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.loop.enqueue import enqueue_handler, mapped_keys, own_key
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.process.lifecycle import LeaderRunnable
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue
from serverless.activator import queue_depths
from serverless.activator.config import Config
from serverless.activator.metrics import FunctionMetrics
from serverless.activator.queue_depths import QueueDepths
from serverless.activator.reconciler import FunctionReconciler, ReconcilerDependencies
from serverless.activator.scaling.cold_starts import ColdStartTimer
from serverless.activator.scaling.snapshot import SnapshotReader
from serverless.activator.scaling.worker_creation import WorkerCreator
from serverless.activator.sweep import stream_repair, sweep
from serverless.activator.sweep.finalizer import FunctionFinalizer
from serverless.activator.sweep.function_existence import FunctionExistence
from serverless.activator.sweep.invocation_store import InvocationStore
from serverless.activator.sweep.periodic import PeriodicTask
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.sweep.stream_repair import StreamRepair
from serverless.activator.sweep.sweep import Sweep
from serverless.activator.worker_reports import WorkerReports
from serverless.activator.workers.queue_resources import QueueResources
from serverless.activator.workers.runtime_api import RuntimeAPIClient
from serverless.activator.workers.worker_secrets import WorkerSecrets
from serverless.nats.connection import QueueConnection
from serverless.nats.requests import JetStreamClient
from shared.invocation.streams import stream_configs
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

LOOP_NAME: Final = "function"


@dataclass(frozen=True, slots=True)
class LeaderDependencies:
    """What a leader works with; `fence` raises where this process may no longer write."""

    config: Config
    client: Client
    session: aiohttp.ClientSession
    recorder: EventRecorder
    functions: Cache[Function]
    units: Cache[GPUUnit]
    connection: QueueConnection
    worker_reports: WorkerReports
    worker_key: bytes
    fence: Callable[[], None]
    clock: Clock


class LeaderWiring:
    """The parts of a leader, made once a process."""

    def __init__(
        self, dependencies: LeaderDependencies, loop_factory: LoopFactory, metrics: FunctionMetrics
    ) -> None:
        names, clock = dependencies.config.nats.names, dependencies.clock
        self._dependencies = dependencies
        self._loop_factory = loop_factory
        self._metrics = metrics
        self._jetstream = JetStreamClient(dependencies.connection, dependencies.fence)
        self._invocation_store = InvocationStore(self._jetstream, names)
        self._settler = RecordSettler(self._invocation_store, metrics.settle_metrics, clock)
        self._queue = loop_factory.new_queue(LOOP_NAME)
        self.queue_depths = QueueDepths(self._jetstream, names.invocations_stream, self._enqueue)
        where = dependencies.config.namespaces.instance
        self._function_existence = FunctionExistence(
            dependencies.functions, dependencies.client, where
        )
        self._queue_resources = QueueResources(
            self._jetstream, names, dependencies.config.nats.limits, self.queue_depths
        )
        self.sweep = Sweep(self._invocation_store, self._settler, self._function_existence, clock)

    def build_loops(self) -> list[LeaderRunnable]:
        """All that a leader runs, not yet started."""
        around, clock = self._dependencies, self._dependencies.clock
        enqueue_changes(self._queue, around.functions, around.units)
        sights = SnapshotReader(around.units, around.worker_reports, clock)
        subject = FunctionReconciler(
            around.functions, sights, self._reconciler_dependencies(), self._metrics, clock
        )
        return [
            self._loop_factory.new_loop(LOOP_NAME, around.config.workers, self._queue, subject),
            PeriodicTask("depths", queue_depths.REFRESH_SECONDS, self.queue_depths.refresh, clock),
            PeriodicTask("sweep", sweep.INTERVAL_SECONDS, self.sweep.run_round, clock),
            PeriodicTask(
                "upkeep", stream_repair.INTERVAL_SECONDS, self._stream_repair().run_round, clock
            ),
        ]

    def _reconciler_dependencies(self) -> ReconcilerDependencies:
        around, nats = self._dependencies, self._dependencies.config.nats
        informers: tuple[Informer[Any], ...] = (
            *around.functions.informers,
            *around.units.informers,
        )
        writer = Writer(around.client, informers, around.fence)
        config = around.config
        api = RuntimeAPIClient(
            around.session, config.runtime_api_url, around.fence, config.runtime_api_token_file
        )
        url = nats.worker_url or nats.url
        return ReconcilerDependencies(
            queue_resources=self._queue_resources,
            worker_secrets=WorkerSecrets(around.client, writer, url, around.worker_key),
            runtime_api=api,
            worker_creator=WorkerCreator(api, writer, around.clock),
            finalizer=FunctionFinalizer(
                self._invocation_store, self._settler, self._queue_resources, around.clock
            ),
            function_existence=self._function_existence,
            cold_start_timer=ColdStartTimer(
                self._invocation_store, self._metrics.cold_start_seconds
            ),
            writer=writer,
            recorder=around.recorder,
        )

    def _stream_repair(self) -> StreamRepair:
        nats = self._dependencies.config.nats
        wanted = stream_configs(nats.names, nats.limits)
        return StreamRepair(self._jetstream, wanted, self._queue_resources, self._enqueue)

    def _enqueue(self, function_name: str) -> None:
        self._queue.add(ObjectKey(self._dependencies.config.namespaces.instance, function_name))


def enqueue_changes(
    queue: WorkQueue[ObjectKey], functions: Cache[Function], units: Cache[GPUUnit]
) -> None:
    """Work on a function when it or one of its workers changes."""
    functions.subscribe(enqueue_handler(queue, own_key()))
    units.subscribe(enqueue_handler(queue, mapped_keys(function_keys), Priority.CHILD))


def function_keys(unit: GPUUnit) -> Iterable[ObjectKey]:
    """The function that a unit works for."""
    namespace = unit.metadata.namespace
    return [ObjectKey(namespace, request_id) for request_id in function_names(unit)]


def function_names(unit: GPUUnit) -> Iterable[str]:
    """The requestID of a unit that is a worker."""
    return [] if unit.spec.serverless is None else [unit.spec.serverless.function_name]
