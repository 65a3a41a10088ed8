"""Builds what only the leading activator runs: function controller, queue polling and sweep."""

from collections.abc import Iterable
from typing import Final

import aiohttp

from controller.runtime import Cache, Manager, ObjectKey
from serverless.activator import queue_depths
from serverless.activator.config import Config
from serverless.activator.kinds import FUNCTIONS, GPU_UNITS
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
from shared.v1alpha1.reasons import EventReason

CONTROLLER_NAME: Final = "function"


class LeaderWiring:
    """The parts of a leader; `jetstream` refuses writes if this process no longer leads."""

    def __init__(
        self,
        manager: Manager,
        config: Config,
        *,
        session: aiohttp.ClientSession,
        jetstream: JetStreamClient,
        functions: Cache[Function],
        units: Cache[GPUUnit],
        worker_reports: WorkerReports,
        worker_key: bytes,
        metrics: FunctionMetrics,
    ) -> None:
        names, instance, clock = config.nats.names, config.namespaces.instance, manager.clock
        self._manager = manager
        self._config = config
        self._session = session
        self._jetstream = jetstream
        self._functions = functions
        self._units = units
        self._worker_reports = worker_reports
        self._worker_key = worker_key
        self._metrics = metrics
        self._controller = manager.controller(CONTROLLER_NAME)
        self._invocation_store = InvocationStore(jetstream, names)
        self._settler = RecordSettler(self._invocation_store, metrics.settle_metrics, clock)
        self.queue_depths = QueueDepths(jetstream, names.invocations_stream, self._enqueue)
        self._function_existence = FunctionExistence(functions, manager.client, instance)
        self._queue_resources = QueueResources(
            jetstream, names, config.nats.limits, self.queue_depths
        )
        self.sweep = Sweep(self._invocation_store, self._settler, self._function_existence, clock)

    def declare(self) -> None:
        """Declare everything that a leader runs: a function is reconciled when a worker changes."""
        controller = self._controller.for_(FUNCTIONS, EventReason.FAILED)
        controller.watches(GPU_UNITS, function_keys)
        controller.reconcile(self.build_reconciler(), self._config.workers)
        repair = self._stream_repair()
        for name, interval_seconds, work in (
            ("depths", queue_depths.REFRESH_SECONDS, self.queue_depths.refresh),
            ("sweep", sweep.INTERVAL_SECONDS, self.sweep.run_round),
            ("upkeep", stream_repair.INTERVAL_SECONDS, repair.run_round),
        ):
            task = PeriodicTask(name, interval_seconds, work, self._manager.clock)
            self._manager.add_leader_runnable(task)

    def build_reconciler(self) -> FunctionReconciler:
        """Return the reconciler of functions."""
        config, nats, manager = self._config, self._config.nats, self._manager
        runtime_api = RuntimeAPIClient(
            self._session, config.runtime_api_url, manager.fence, config.runtime_api_token_file
        )
        worker_url = nats.worker_url or nats.url
        return FunctionReconciler(
            functions=self._functions,
            snapshot_reader=SnapshotReader(self._units, self._worker_reports, manager.clock),
            queue_resources=self._queue_resources,
            worker_secrets=WorkerSecrets(
                manager.client, manager.writer, worker_url, self._worker_key
            ),
            runtime_api=runtime_api,
            worker_creator=WorkerCreator(runtime_api, manager.writer, manager.clock),
            finalizer=FunctionFinalizer(
                self._invocation_store, self._settler, self._queue_resources, manager.clock
            ),
            function_existence=self._function_existence,
            cold_start_timer=ColdStartTimer(
                self._invocation_store, self._metrics.cold_start_seconds
            ),
            writer=manager.writer,
            recorder=manager.recorder,
            metrics=self._metrics,
            clock=manager.clock,
        )

    def _stream_repair(self) -> StreamRepair:
        configs = stream_configs(self._config.nats.names, self._config.nats.limits)
        return StreamRepair(self._jetstream, configs, self._queue_resources, self._enqueue)

    def _enqueue(self, function_name: str) -> None:
        self._controller.queue.add(ObjectKey(self._config.namespaces.instance, function_name))


def function_keys(unit: GPUUnit) -> Iterable[ObjectKey]:
    """Return the key of the function whose worker the unit is; empty for other units."""
    namespace = unit.metadata.namespace
    return [ObjectKey(namespace, name) for name in function_names(unit)]


def function_names(unit: GPUUnit) -> Iterable[str]:
    """Return the name of the function whose worker the unit is; empty for other units."""
    return [] if unit.spec.serverless is None else [unit.spec.serverless.function_name]
