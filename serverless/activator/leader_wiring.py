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
from controller.runtime.loop.enqueue import feed
from controller.runtime.loop.loop_factory import Loops
from controller.runtime.loop.triggers import itself, mapped
from controller.runtime.process.manager import Loop
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue
from serverless.activator import queue_depths
from serverless.activator.config import Config
from serverless.activator.metrics import Measures
from serverless.activator.queue_depths import Depths
from serverless.activator.reconciler import FunctionReconciler, Hands
from serverless.activator.scaling.cold_starts import ColdStarts
from serverless.activator.scaling.snapshot import Sights
from serverless.activator.scaling.worker_creation import Asking
from serverless.activator.sweep import stream_repair, sweep
from serverless.activator.sweep.finalizer import Ending
from serverless.activator.sweep.function_existence import Homes
from serverless.activator.sweep.invocation_store import Records
from serverless.activator.sweep.periodic import Rounds
from serverless.activator.sweep.settle import Settling
from serverless.activator.sweep.stream_repair import Upkeep
from serverless.activator.sweep.sweep import Sweep
from serverless.activator.worker_reports import Reports
from serverless.activator.workers.queue_resources import Outfit, WorkerSecrets
from serverless.activator.workers.runtime_api import UnitsAPI
from serverless.nats.connection import QueueConnection
from serverless.nats.requests import JetStream
from shared.invocation.streams import streams
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

LOOP: Final = "function"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a leader works with; `fence` raises where this process may no longer write."""

    config: Config
    client: Client
    session: aiohttp.ClientSession
    recorder: EventRecorder
    functions: Cache[Function]
    units: Cache[GPUUnit]
    queue: QueueConnection
    reports: Reports
    worker_key: bytes
    fence: Callable[[], None]
    clock: Clock


class Leading:
    """The parts of a leader, made once a process."""

    def __init__(self, around: Surroundings, loops: Loops, measures: Measures) -> None:
        names, clock = around.config.nats.names, around.clock
        self._around = around
        self._loops = loops
        self._measures = measures
        self._jetstream = JetStream(around.queue, around.fence)
        self._records = Records(self._jetstream, names)
        self._settling = Settling(self._records, measures.settling, clock)
        self._keys = loops.queue(LOOP)
        self.depths = Depths(self._jetstream, names.invocations_stream, self._wake)
        where = around.config.namespaces.instance
        self._homes = Homes(around.functions, around.client, where)
        self._outfit = Outfit(self._jetstream, names, around.config.nats.limits, self.depths)
        self.sweep = Sweep(self._records, self._settling, self._homes, clock)

    def loops(self) -> list[Loop]:
        """All that a leader runs, not yet started."""
        around, clock = self._around, self._around.clock
        listen(self._keys, around.functions, around.units)
        sights = Sights(around.units, around.reports, clock)
        subject = FunctionReconciler(around.functions, sights, self._hands(), self._measures, clock)
        return [
            self._loops.loop(LOOP, around.config.workers, self._keys, subject),
            Rounds("depths", queue_depths.ROUND_SECONDS, self.depths.look, clock),
            Rounds("sweep", sweep.ROUND_SECONDS, self.sweep.round, clock),
            Rounds("upkeep", stream_repair.ROUND_SECONDS, self._upkeep().round, clock),
        ]

    def _hands(self) -> Hands:
        around, nats = self._around, self._around.config.nats
        informers: tuple[Informer[Any], ...] = (
            *around.functions.informers,
            *around.units.informers,
        )
        writer = Writer(around.client, informers, around.fence)
        config = around.config
        api = UnitsAPI(
            around.session, config.runtime_api_url, around.fence, config.runtime_api_token_file
        )
        url = nats.worker_url or nats.url
        return Hands(
            outfit=self._outfit,
            secrets=WorkerSecrets(around.client, writer, url, around.worker_key),
            api=api,
            asking=Asking(api, writer, around.clock),
            ending=Ending(self._records, self._settling, self._outfit, around.clock),
            homes=self._homes,
            cold_starts=ColdStarts(self._records, self._measures.cold_start_seconds),
            writer=writer,
            recorder=around.recorder,
        )

    def _upkeep(self) -> Upkeep:
        nats = self._around.config.nats
        wanted = streams(nats.names, nats.limits)
        return Upkeep(self._jetstream, wanted, self._outfit, self._wake)

    def _wake(self, request_id: str) -> None:
        self._keys.add(ObjectKey(self._around.config.namespaces.instance, request_id))


def listen(queue: WorkQueue[ObjectKey], functions: Cache[Function], units: Cache[GPUUnit]) -> None:
    """Work on a function when it or one of its workers changes."""
    functions.subscribe(feed(queue, itself()))
    units.subscribe(feed(queue, mapped(function_of), Priority.CHILD))


def function_of(unit: GPUUnit) -> Iterable[ObjectKey]:
    """The function that a unit works for."""
    namespace = unit.metadata.namespace
    return [ObjectKey(namespace, request_id) for request_id in request_ids(unit)]


def request_ids(unit: GPUUnit) -> Iterable[str]:
    """The requestID of a unit that is a worker."""
    return [] if unit.spec.serverless is None else [unit.spec.serverless.request_id]
