"""How GPUUnits are watched and worked on."""

from typing import Final

from controller.apply.applier import Sync
from controller.caches import Caches, deployment_claims, replica_set_claims
from controller.gpuunit.active_unit import ActiveStory
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.handoff.stock_lifecycle import Stockkeeping
from controller.gpuunit.reconciler import GPUUnitReconciler
from controller.gpuunit.scheduling.nomination_timeout import Vacancies
from controller.gpuunit.scheduling.nominator import PlaceKeeping
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status.status_writer import Report
from controller.gpuunit.stock_unit import StockStory
from controller.gpuunit.storage_mounts import Storages
from controller.gpuunit.triggers import Wakes
from controller.kinds import GPU_UNITS
from controller.namespaces import Namespaces
from controller.object_reader import Lookup
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.undecodable import by_event
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import ControlLoop
from controller.runtime.loop.enqueue import feed
from controller.runtime.loop.loop_factory import Loops
from controller.runtime.loop.triggers import itself, mapped, owner
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue
from controller.volume_users import used_claims
from shared.v1alpha1.reasons import EventReason

NAME: Final = "gpuunit"


def reconciler(
    caches: Caches,
    client: Client,
    writer: Writer,
    recorder: EventRecorder,
    settings: UnitSettings,
    clock: Clock,
) -> GPUUnitReconciler:
    """The reconciler with all that it works with."""
    lookup = Lookup(caches, client, settings.namespaces)
    sync = Sync(GPU_UNITS, writer, recorder)
    keeping = Stockkeeping(caches, lookup, writer, recorder)
    handoff = Handoff(caches, lookup, writer, recorder, clock)
    stock = StockStory(caches, settings, keeping, sync)
    vacancies = Vacancies(clock)
    places = PlaceKeeping(caches, handoff, vacancies, writer)
    active = ActiveStory(caches, settings, handoff, places, Storages(caches, writer), sync)
    report = Report(caches, settings.namespaces, writer, recorder, clock)
    return GPUUnitReconciler(caches, settings.namespaces, stock, active, report, vacancies)


def control_loop(
    subject: GPUUnitReconciler,
    caches: Caches,
    recorder: EventRecorder,
    namespaces: Namespaces,
    loops: Loops,
    workers: int,
) -> ControlLoop:
    """A loop over all units that the caches know, not yet started."""
    queue = loops.queue(NAME)
    watch(queue, caches, namespaces)
    for informer in caches.units.informers:
        informer.report_unreadable(by_event(recorder, GPU_UNITS, EventReason.FAILED))
    return loops.loop(NAME, workers, queue, subject)


def watch(queue: WorkQueue[ObjectKey], caches: Caches, namespaces: Namespaces) -> None:
    """News about what a unit has or waits for goes before new units: it makes units ready."""
    wakes, child = Wakes(caches, namespaces), Priority.CHILD
    caches.units.subscribe(feed(queue, itself()))
    caches.units.subscribe(feed(queue, mapped(wakes.by_stock), child), namespaces.stock)
    caches.units.subscribe(feed(queue, wakes.gone_unit(), child), namespaces.instance)
    for children in (caches.deployments, caches.services, caches.policies):
        children.subscribe(feed(queue, owner(GPU_UNITS), child))
        children.subscribe(feed(queue, wakes.freed_name(), child))
    caches.replica_sets.subscribe(feed(queue, wakes.changed_revision(), child))
    caches.pods.subscribe(feed(queue, mapped(wakes.by_label), child))
    freed, here = wakes.freed_volume, namespaces.instance
    caches.pods.subscribe(feed(queue, freed(used_claims), child), here)
    caches.replica_sets.subscribe(feed(queue, freed(replica_set_claims), child), here)
    caches.deployments.subscribe(feed(queue, freed(deployment_claims), child), here)
    caches.nodes.subscribe(feed(queue, wakes.changed_node(), child))
    caches.storages.subscribe(feed(queue, mapped(wakes.by_storage), child))
    caches.functions.subscribe(feed(queue, wakes.made_function(), child))
    caches.operations.subscribe(feed(queue, mapped(wakes.by_operation), child))
    caches.pools.subscribe(feed(queue, wakes.noted_claim(), child))
