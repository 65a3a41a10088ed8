"""Reads a function and its workers from the caches and the last poll of the queue."""

from dataclasses import dataclass, field, replace
from typing import Final

from controller.runtime import Cache, Clock
from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.demand_history import Demand
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState, observe_worker
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.worker_reports import WorkerReports
from serverless.activator.workers.create_backoff import CreateFailure
from shared.time import now_ms
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

FUNCTION_INDEX: Final = "request"  # index of units by their function


@dataclass(slots=True)
class ScalingState:
    """The memory of a leader about a function; without it scaling is only slower.

    `cold_record_key` is the record of the first invocation that waits for a worker; `deleted_etags`
    are those of deleted workers.
    """

    create_failure: CreateFailure | None = None
    demand_history: tuple[Demand, ...] = ()
    cold_record_key: str | None = None
    deleted_etags: set[str] = field(default_factory=set)


class SnapshotReader:
    """Reads scaling snapshots."""

    def __init__(self, units: Cache[GPUUnit], worker_reports: WorkerReports, clock: Clock) -> None:
        self._units = units
        self._worker_reports = worker_reports
        self._clock = clock

    def read(
        self, function: Function, load: QueueLoad, scaling_state: ScalingState
    ) -> ScalingSnapshot:
        """Return the snapshot; deleted workers count as going even if the cache is behind."""
        workers, now = self._workers(function), now_ms(self._clock)
        scaling_state.deleted_etags &= {worker.etag for worker in workers}
        observed = tuple(
            replace(worker, state=WorkerState.GOING)
            if worker.etag in scaling_state.deleted_etags
            else worker
            for worker in workers
        )
        return ScalingSnapshot(
            spec=function.spec,
            load=load,
            workers=observed,
            now=now,
            demand_history=scaling_state.demand_history,
            is_creating=is_creating_worker(function) and not has_last_worker(function, workers),
        )

    def forget(self, function_name: str) -> None:
        """Drop the reports of a deleted function."""
        self._worker_reports.forget(function_name)

    def _workers(self, function: Function) -> list[ObservedWorker]:
        meta, now = function.metadata, now_ms(self._clock)
        reports = self._worker_reports.get(meta.name)
        units = self._units.by_index(meta.namespace, FUNCTION_INDEX, meta.name)
        observed = (observe_worker(function, unit, reports, now) for unit in units)
        return [worker for worker in observed if worker is not None]


def is_creating_worker(function: Function) -> bool:
    """Whether the creation of the last worker is not recorded as finished."""
    return function.status.worker_counter > function.status.settled_counter


def has_last_worker(function: Function, workers: list[ObservedWorker]) -> bool:
    """Whether the unit of the last worker exists."""
    return any(worker.number == function.status.worker_counter for worker in workers)
