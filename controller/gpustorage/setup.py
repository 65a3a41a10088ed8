"""Construction of the GPUStorage controller: its reconciler, and what triggers it."""

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
from controller.kinds import (
    DEPLOYMENTS,
    GPU_STORAGES,
    GPU_UNITS,
    JOBS,
    NETWORK_POLICIES,
    OPERATIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STORAGE_CLASSES,
)
from controller.namespaces import Namespaces
from controller.object_reader import ObjectReader
from controller.runtime import (
    Client,
    Clock,
    ControllerBuilder,
    EventRecorder,
    Manager,
    Writer,
    own_key,
)
from shared.v1alpha1.reasons import EventReason

CONTROLLER_NAME: Final = "gpustorage"


def setup_with_manager(
    manager: Manager, caches: Caches, settings: StorageSettings, workers: int
) -> None:
    """Declare the controller of storages."""
    controller = manager.controller(CONTROLLER_NAME)
    add_triggers(controller, caches, settings.namespaces)
    reconciler = create_reconciler(
        caches, manager.client, manager.writer, manager.recorder, settings, manager.clock
    )
    controller.reconcile(reconciler, workers)


def add_triggers(controller: ControllerBuilder, caches: Caches, namespaces: Namespaces) -> None:
    """Reconcile a storage when it changes, or an object that it owns, waits for or depends on."""
    triggers, instance = StorageTriggers(caches, namespaces), namespaces.instance
    controller.for_(GPU_STORAGES, EventReason.FAILED)
    controller.watches(GPU_STORAGES, triggers.copies_and_source)
    controller.on_change(PERSISTENT_VOLUME_CLAIMS, own_key())  # a PVC has its storage's name
    for kind in (JOBS, SERVICES, DEPLOYMENTS, NETWORK_POLICIES):
        controller.owns(kind, namespace=instance)
        controller.on_change(kind, triggers.on_name_release(), namespace=instance)
    controller.watches(DEPLOYMENTS, triggers.storages_of_deployment, namespace=instance)
    controller.watches(REPLICA_SETS, triggers.storages_of_replica_set, namespace=instance)
    controller.watches(PODS, triggers.storages_of_pod, namespace=instance)
    controller.watches(GPU_UNITS, triggers.storages_of_unit, namespace=instance)
    controller.watches(OPERATIONS, triggers.storages_of_operation)
    controller.watches(STORAGE_CLASSES, triggers.all_storages)


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
