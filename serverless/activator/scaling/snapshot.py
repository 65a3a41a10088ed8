"""A function and its workers, as the caches and the last look at the queue have them."""

from dataclasses import dataclass, field, replace
from typing import Final

from controller.runtime.cache.cache import Cache
from controller.runtime.clock import Clock
from serverless.activator.scaling.demand_history import Need
from serverless.activator.scaling.observed_worker import Worker, WorkerState, worker
from serverless.activator.scaling.plan import Load, Scene
from serverless.activator.timestamps import now_ms
from serverless.activator.worker_reports import Reports
from serverless.activator.workers.create_backoff import Trouble
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

BY_REQUEST: Final = "request"  # units by the function that they work for


@dataclass(slots=True)
class Memory:
    """What one leader remembers of a function; lost with it, and then only late.

    `cold`: the record of the first invocation that waits for a worker to come; `removed`: the tags
    of the workers that were given back.
    """

    trouble: Trouble | None = None
    needs: tuple[Need, ...] = ()
    cold: str | None = None
    removed: set[str] = field(default_factory=set)


class Sights:
    """Looks at functions."""

    def __init__(self, units: Cache[GPUUnit], reports: Reports, clock: Clock) -> None:
        self._units = units
        self._reports = reports
        self._clock = clock

    def of(self, function: Function, load: Load, memory: Memory) -> Scene:
        """The scene of a function; whom we have given back is going, whatever the cache says."""
        workers, now = self._workers(function), now_ms(self._clock)
        memory.removed &= {each.tag for each in workers}
        seen = tuple(
            replace(each, state=WorkerState.GOING) if each.tag in memory.removed else each
            for each in workers
        )
        return Scene(
            spec=function.spec,
            load=load,
            workers=seen,
            now=now,
            needs=memory.needs,
            is_asking=is_asking(function) and not is_there(function, workers),
        )

    def forget(self, request_id: str) -> None:
        """Keep nothing of a function that is gone."""
        self._reports.forget(request_id)

    def _workers(self, function: Function) -> list[Worker]:
        meta, now = function.metadata, now_ms(self._clock)
        reports = self._reports.of(meta.name)
        units = self._units.by_index(meta.namespace, BY_REQUEST, meta.name)
        found = (worker(function, unit, reports, now) for unit in units)
        return [each for each in found if each is not None]


def is_asking(function: Function) -> bool:
    """Whether the making of the last worker is not over, as far as was written down."""
    return function.status.worker_counter > function.status.settled_counter


def is_there(function: Function, workers: list[Worker]) -> bool:
    """Whether the unit of the last worker exists."""
    return any(each.number == function.status.worker_counter for each in workers)
