"""Builds what only the leading activator runs: function reconciler, queue polling and sweep."""

from collections.abc import Callable, Iterable
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
from serverless.activator.reconciler import FunctionReconciler
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
from serverless.nats.requests import JetStreamClient
from shared.invocation.streams import stream_configs
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

LOOP_NAME: Final = "function"


class LeaderWiring:
    """The parts of a leader; `fence` raises if this process is no longer the leader."""

    def __init__(
        self,
        config: Config,
        *,
        client: Client,
        session: aiohttp.ClientSession,
        jetstream: JetStreamClient,
        recorder: EventRecorder,
        functions: Cache[Function],
        units: Cache[GPUUnit],
        worker_reports: WorkerReports,
        worker_key: bytes,
        fence: Callable[[], None],
        loop_factory: LoopFactory,
        metrics: FunctionMetrics,
        clock: Clock,
    ) -> None:
        names, instance = config.nats.names, config.namespaces.instance
        self._config = config
        self._client = client
        self._session = session
        self._jetstream = jetstream
        self._recorder = recorder
        self._functions = functions
        self._units = units
        self._worker_reports = worker_reports
        self._worker_key = worker_key
        self._fence = fence
        self._loop_factory = loop_factory
        self._metrics = metrics
        self._clock = clock
        self._invocation_store = InvocationStore(jetstream, names)
        self._settler = RecordSettler(self._invocation_store, metrics.settle_metrics, clock)
        self._queue = loop_factory.new_queue(LOOP_NAME)
        self.queue_depths = QueueDepths(jetstream, names.invocations_stream, self._enqueue)
        self._function_existence = FunctionExistence(functions, client, instance)
        self._queue_resources = QueueResources(
            jetstream, names, config.nats.limits, self.queue_depths
        )
        self.sweep = Sweep(self._invocation_store, self._settler, self._function_existence, clock)

    def build_loops(self) -> list[LeaderRunnable]:
        """Return everything that a leader runs, not started yet."""
        enqueue_changes(self._queue, self._functions, self._units)
        workers, depths, clock = self._config.workers, self.queue_depths, self._clock
        return [
            self._loop_factory.new_loop(LOOP_NAME, workers, self._queue, self.build_reconciler()),
            PeriodicTask("depths", queue_depths.REFRESH_SECONDS, depths.refresh, clock),
            PeriodicTask("sweep", sweep.INTERVAL_SECONDS, self.sweep.run_round, clock),
            PeriodicTask(
                "upkeep", stream_repair.INTERVAL_SECONDS, self._stream_repair().run_round, clock
            ),
        ]

    def build_reconciler(self) -> FunctionReconciler:
        """Return the reconciler of functions."""
        config, nats = self._config, self._config.nats
        writer = self._writer()
        runtime_api = RuntimeAPIClient(
            self._session, config.runtime_api_url, self._fence, config.runtime_api_token_file
        )
        worker_url = nats.worker_url or nats.url
        return FunctionReconciler(
            functions=self._functions,
            snapshot_reader=SnapshotReader(self._units, self._worker_reports, self._clock),
            queue_resources=self._queue_resources,
            worker_secrets=WorkerSecrets(self._client, writer, worker_url, self._worker_key),
            runtime_api=runtime_api,
            worker_creator=WorkerCreator(runtime_api, writer, self._clock),
            finalizer=FunctionFinalizer(
                self._invocation_store, self._settler, self._queue_resources, self._clock
            ),
            function_existence=self._function_existence,
            cold_start_timer=ColdStartTimer(
                self._invocation_store, self._metrics.cold_start_seconds
            ),
            writer=writer,
            recorder=self._recorder,
            metrics=self._metrics,
            clock=self._clock,
        )

    def _writer(self) -> Writer:
        informers: tuple[Informer[Any], ...] = (
            *self._functions.informers,
            *self._units.informers,
        )
        return Writer(self._client, informers, self._fence)

    def _stream_repair(self) -> StreamRepair:
        configs = stream_configs(self._config.nats.names, self._config.nats.limits)
        return StreamRepair(self._jetstream, configs, self._queue_resources, self._enqueue)

    def _enqueue(self, function_name: str) -> None:
        self._queue.add(ObjectKey(self._config.namespaces.instance, function_name))


def enqueue_changes(
    queue: WorkQueue[ObjectKey], functions: Cache[Function], units: Cache[GPUUnit]
) -> None:
    """Enqueue a function when it or one of its workers changes."""
    functions.subscribe(enqueue_handler(queue, own_key()))
    units.subscribe(enqueue_handler(queue, mapped_keys(function_keys), Priority.CHILD))


def function_keys(unit: GPUUnit) -> Iterable[ObjectKey]:
    """Return the key of the function whose worker the unit is; empty for other units."""
    namespace = unit.metadata.namespace
    return [ObjectKey(namespace, name) for name in function_names(unit)]


def function_names(unit: GPUUnit) -> Iterable[str]:
    """Return the name of the function whose worker the unit is; empty for other units."""
    return [] if unit.spec.serverless is None else [unit.spec.serverless.function_name]
