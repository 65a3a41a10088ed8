"""Construction of the GPUUnit reconciler, and its triggers."""

from typing import Final

from controller.apply.applier import ChildApplier
from controller.caches import Caches, deployment_pvc_names, replica_set_pvc_names
from controller.gpuunit.active_unit import ActiveUnitReconciler
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.handoff.stock_lifecycle import StockLifecycle
from controller.gpuunit.reconciler import GPUUnitReconciler
from controller.gpuunit.scheduling.nomination_timeout import NominationTimeouts
from controller.gpuunit.scheduling.nominator import Nominator
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status.status_writer import UnitStatusWriter
from controller.gpuunit.stock_unit import StockUnitReconciler
from controller.gpuunit.storage_mounts import StorageMounts
from controller.gpuunit.triggers import UnitTriggers
from controller.kinds import GPU_UNITS
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
from controller.volume_users import used_pvc_names
from shared.v1alpha1.reasons import EventReason

LOOP_NAME: Final = "gpuunit"


def create_reconciler(
    caches: Caches,
    client: Client,
    writer: Writer,
    recorder: EventRecorder,
    settings: UnitSettings,
    clock: Clock,
) -> GPUUnitReconciler:
    """Make the reconciler and its collaborators."""
    namespaces = settings.namespaces
    reader = ObjectReader(caches, client, namespaces)
    applier = ChildApplier(GPU_UNITS, writer, recorder)
    timeouts = NominationTimeouts(clock)
    lifecycle = StockLifecycle(caches, reader, writer, recorder)
    stock = StockUnitReconciler(caches, settings, lifecycle, applier)
    active = ActiveUnitReconciler(
        caches,
        settings,
        Handoff(caches, reader, writer, recorder, clock),
        Nominator(timeouts, writer),
        StorageMounts(caches, writer),
        applier,
    )
    status_writer = UnitStatusWriter(caches, namespaces, writer, recorder, clock)
    return GPUUnitReconciler(caches, namespaces, stock, active, status_writer, timeouts)


def create_control_loop(
    reconciler: GPUUnitReconciler,
    caches: Caches,
    recorder: EventRecorder,
    namespaces: Namespaces,
    loop_factory: LoopFactory,
    workers: int,
) -> ControlLoop:
    """Make the loop over all units in the caches; it is not started."""
    queue = loop_factory.new_queue(LOOP_NAME)
    subscribe_triggers(queue, caches, namespaces)
    for informer in caches.units.informers:
        informer.set_undecodable_handler(
            undecodable_event_handler(recorder, GPU_UNITS, EventReason.FAILED)
        )
    return loop_factory.new_loop(LOOP_NAME, workers, queue, reconciler)


def subscribe_triggers(queue: WorkQueue[ObjectKey], caches: Caches, namespaces: Namespaces) -> None:
    """Enqueue units; changes of what a unit waits for go before new units."""
    wakes, child = UnitTriggers(caches, namespaces), Priority.CHILD
    caches.units.subscribe(enqueue_handler(queue, own_key()))
    caches.units.subscribe(
        enqueue_handler(queue, mapped_keys(wakes.units_from_stock), child), namespaces.stock
    )
    caches.units.subscribe(
        enqueue_handler(queue, wakes.on_unit_deletion(), child), namespaces.instance
    )
    for children in (caches.deployments, caches.services, caches.network_policies):
        children.subscribe(enqueue_handler(queue, owner_keys(GPU_UNITS), child))
        children.subscribe(enqueue_handler(queue, wakes.on_name_release(), child))
    caches.replica_sets.subscribe(enqueue_handler(queue, wakes.on_revision_change(), child))
    caches.pods.subscribe(enqueue_handler(queue, mapped_keys(wakes.units_of_child), child))
    freed, here = wakes.on_volume_release, namespaces.instance
    caches.pods.subscribe(enqueue_handler(queue, freed(used_pvc_names), child), here)
    caches.replica_sets.subscribe(enqueue_handler(queue, freed(replica_set_pvc_names), child), here)
    caches.deployments.subscribe(enqueue_handler(queue, freed(deployment_pvc_names), child), here)
    caches.nodes.subscribe(enqueue_handler(queue, wakes.on_node_change(), child))
    caches.storages.subscribe(enqueue_handler(queue, mapped_keys(wakes.units_mounting), child))
    caches.functions.subscribe(
        enqueue_handler(queue, wakes.on_function_created_or_deleted(), child)
    )
    caches.operations.subscribe(
        enqueue_handler(queue, mapped_keys(wakes.units_of_operation), child)
    )
    caches.pools.subscribe(enqueue_handler(queue, wakes.on_claim_counted(), child))
