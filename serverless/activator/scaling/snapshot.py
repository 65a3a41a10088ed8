"""A function and its workers, as the caches and the last look at the queue have them."""

from dataclasses import dataclass, field, replace
from typing import Final

from controller.runtime.cache.cache import Cache
from controller.runtime.clock import Clock
from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.demand_history import Demand
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState, observe_worker
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.timestamps import now_ms
from serverless.activator.worker_reports import WorkerReports
from serverless.activator.workers.create_backoff import CreateFailure
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

FUNCTION_INDEX: Final = "request"  # units by the function that they work for


@dataclass(slots=True)
class ScalingState:
    """What one leader remembers of a function; lost with it, and then only late.

    `cold`: the record of the first invocation that waits for a worker to come; `removed`: the tags
    of the workers that were given back.
    """

    create_failure: CreateFailure | None = None
    demand_history: tuple[Demand, ...] = ()
    cold_record_key: str | None = None
    deleted_etags: set[str] = field(default_factory=set)


class SnapshotReader:
    """Looks at functions."""

    def __init__(self, units: Cache[GPUUnit], worker_reports: WorkerReports, clock: Clock) -> None:
        self._units = units
        self._worker_reports = worker_reports
        self._clock = clock

    def read(
        self, function: Function, load: QueueLoad, scaling_state: ScalingState
    ) -> ScalingSnapshot:
        """The scene of a function; whom we have given back is going, whatever the cache says."""
        workers, now = self._workers(function), now_ms(self._clock)
        scaling_state.deleted_etags &= {each.etag for each in workers}
        seen = tuple(
            replace(each, state=WorkerState.GOING)
            if each.etag in scaling_state.deleted_etags
            else each
            for each in workers
        )
        return ScalingSnapshot(
            spec=function.spec,
            load=load,
            workers=seen,
            now=now,
            demand_history=scaling_state.demand_history,
            is_creating=is_creating_worker(function) and not has_last_worker(function, workers),
        )

    def forget(self, function_name: str) -> None:
        """Keep nothing of a function that is gone."""
        self._worker_reports.forget(function_name)

    def _workers(self, function: Function) -> list[ObservedWorker]:
        meta, now = function.metadata, now_ms(self._clock)
        reports = self._worker_reports.get(meta.name)
        units = self._units.by_index(meta.namespace, FUNCTION_INDEX, meta.name)
        found = (observe_worker(function, unit, reports, now) for unit in units)
        return [each for each in found if each is not None]


def is_creating_worker(function: Function) -> bool:
    """Whether the making of the last worker is not over, as far as was written down."""
    return function.status.worker_counter > function.status.settled_counter


def has_last_worker(function: Function, workers: list[ObservedWorker]) -> bool:
    """Whether the unit of the last worker exists."""
    return any(each.number == function.status.worker_counter for each in workers)
