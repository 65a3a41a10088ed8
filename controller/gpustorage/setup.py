"""How GPUStorages are watched and worked on."""

from typing import Final

from controller.apply.applier import Sync
from controller.caches import Caches
from controller.gpustorage.accessor_reconciler import Browsing
from controller.gpustorage.locks.lock_reconciler import Mounts
from controller.gpustorage.prepare.prepare_locks import FillingLocks
from controller.gpustorage.prepare.prepare_reconciler import Preparation
from controller.gpustorage.prepare.start import Start
from controller.gpustorage.reconciler import GPUStorageReconciler
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.status_writer import Report
from controller.gpustorage.triggers import Wakes
from controller.gpustorage.volume_reconciler import Volumes
from controller.kinds import GPU_STORAGES
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
from shared.v1alpha1.reasons import EventReason

NAME: Final = "gpustorage"


def reconciler(
    caches: Caches,
    client: Client,
    writer: Writer,
    recorder: EventRecorder,
    settings: StorageSettings,
    clock: Clock,
) -> GPUStorageReconciler:
    """The reconciler with all that it works with."""
    lookup = Lookup(caches, client, settings.namespaces)
    sync = Sync(GPU_STORAGES, writer, recorder)
    locks = FillingLocks(caches, lookup, writer)
    start = Start(caches, locks, settings, sync, writer, recorder)
    return GPUStorageReconciler(
        caches,
        Mounts(caches, lookup, writer, recorder),
        Volumes(caches, lookup, settings, sync),
        Preparation(caches, lookup, start, sync, writer),
        Browsing(caches, settings, sync),
        Report(caches, writer, recorder, clock),
    )


def control_loop(
    subject: GPUStorageReconciler,
    caches: Caches,
    recorder: EventRecorder,
    namespaces: Namespaces,
    loops: Loops,
    workers: int,
) -> ControlLoop:
    """A loop over all storages that the caches know, not yet started."""
    queue = loops.queue(NAME)
    watch(queue, caches, namespaces)
    for informer in caches.storages.informers:
        informer.report_unreadable(by_event(recorder, GPU_STORAGES, EventReason.FAILED))
    return loops.loop(NAME, workers, queue, subject)


def watch(queue: WorkQueue[ObjectKey], caches: Caches, namespaces: Namespaces) -> None:
    """News about what a storage has or waits for goes before new storages."""
    wakes, child, here = Wakes(caches, namespaces), Priority.CHILD, namespaces.instance
    caches.storages.subscribe(feed(queue, itself()))
    caches.storages.subscribe(feed(queue, mapped(wakes.by_storage), child))
    caches.claims.subscribe(feed(queue, itself(), child))  # they have the names of storages
    for children in (caches.jobs, caches.services, caches.deployments, caches.policies):
        children.subscribe(feed(queue, owner(GPU_STORAGES), child), here)
        children.subscribe(feed(queue, wakes.freed_name(), child), here)
    caches.deployments.subscribe(feed(queue, mapped(wakes.by_deployment), child), here)
    caches.replica_sets.subscribe(feed(queue, mapped(wakes.by_replica_set), child), here)
    caches.pods.subscribe(feed(queue, mapped(wakes.by_pod), child), here)
    caches.units.subscribe(feed(queue, mapped(wakes.by_unit), child), here)
    caches.operations.subscribe(feed(queue, mapped(wakes.by_operation), child))
    caches.classes.subscribe(feed(queue, mapped(wakes.by_class), child))
