"""Construction of the GPUStorage reconciler, and its triggers."""

from typing import Final

from controller.apply.applier import ChildApplier
from controller.caches import Caches
from controller.gpustorage.accessor_reconciler import AccessorReconciler
from controller.gpustorage.locks.lock_reconciler import LockReconciler
from controller.gpustorage.prepare.prepare_locks import PrepareLocks
from controller.gpustorage.prepare.prepare_reconciler import PrepareReconciler
from controller.gpustorage.prepare.start import PrepareStarter
from controller.gpustorage.reconciler import GPUStorageReconciler
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.status_writer import StorageStatusWriter
from controller.gpustorage.triggers import StorageTriggers
from controller.gpustorage.volume_reconciler import VolumeReconciler
from controller.kinds import GPU_STORAGES
from controller.namespaces import Namespaces
from controller.object_reader import ObjectReader
from controller.runtime import (
    Client,
    Clock,
    ControlLoop,
    EventRecorder,
    LoopFactory,
    ObjectKey,
    Priority,
    WorkQueue,
    Writer,
    enqueue_handler,
    mapped_keys,
    own_key,
    owner_keys,
    undecodable_event_handler,
)
from shared.v1alpha1.reasons import EventReason

LOOP_NAME: Final = "gpustorage"


def create_reconciler(
    caches: Caches,
    client: Client,
    writer: Writer,
    recorder: EventRecorder,
    settings: StorageSettings,
    clock: Clock,
) -> GPUStorageReconciler:
    """Make the reconciler and its collaborators."""
    lookup = ObjectReader(caches, client, settings.namespaces)
    sync = ChildApplier(GPU_STORAGES, writer, recorder)
    locks = PrepareLocks(caches, lookup, writer)
    start = PrepareStarter(caches, locks, settings, sync, writer, recorder)
    return GPUStorageReconciler(
        caches,
        LockReconciler(caches, lookup, writer, recorder),
        VolumeReconciler(caches, lookup, settings, sync),
        PrepareReconciler(caches, lookup, start, sync, writer),
        AccessorReconciler(caches, settings, sync),
        StorageStatusWriter(caches, writer, recorder, clock),
    )


def create_control_loop(
    reconciler: GPUStorageReconciler,
    caches: Caches,
    recorder: EventRecorder,
    namespaces: Namespaces,
    loop_factory: LoopFactory,
    workers: int,
) -> ControlLoop:
    """Make the loop over all storages in the caches; it is not started."""
    queue = loop_factory.new_queue(LOOP_NAME)
    subscribe_triggers(queue, caches, namespaces)
    for informer in caches.storages.informers:
        informer.set_undecodable_handler(
            undecodable_event_handler(recorder, GPU_STORAGES, EventReason.FAILED)
        )
    return loop_factory.new_loop(LOOP_NAME, workers, queue, reconciler)


def subscribe_triggers(queue: WorkQueue[ObjectKey], caches: Caches, namespaces: Namespaces) -> None:
    """Enqueue storages; changes of what a storage has or waits for go before new storages."""
    wakes, child, here = StorageTriggers(caches, namespaces), Priority.CHILD, namespaces.instance
    caches.storages.subscribe(enqueue_handler(queue, own_key()))
    caches.storages.subscribe(enqueue_handler(queue, mapped_keys(wakes.copies_and_source), child))
    caches.pvcs.subscribe(
        enqueue_handler(queue, own_key(), child)
    )  # a PVC has the name of its storage
    for children in (caches.jobs, caches.services, caches.deployments, caches.network_policies):
        children.subscribe(enqueue_handler(queue, owner_keys(GPU_STORAGES), child), here)
        children.subscribe(enqueue_handler(queue, wakes.on_name_release(), child), here)
    caches.deployments.subscribe(
        enqueue_handler(queue, mapped_keys(wakes.storages_of_deployment), child), here
    )
    caches.replica_sets.subscribe(
        enqueue_handler(queue, mapped_keys(wakes.storages_of_replica_set), child), here
    )
    caches.pods.subscribe(enqueue_handler(queue, mapped_keys(wakes.storages_of_pod), child), here)
    caches.units.subscribe(enqueue_handler(queue, mapped_keys(wakes.storages_of_unit), child), here)
    caches.operations.subscribe(
        enqueue_handler(queue, mapped_keys(wakes.storages_of_operation), child)
    )
    caches.storage_classes.subscribe(enqueue_handler(queue, mapped_keys(wakes.all_storages), child))
