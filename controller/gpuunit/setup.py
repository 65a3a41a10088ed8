"""Construction of the GPUUnit controller: its reconciler, and what triggers it."""

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
from controller.kinds import (
    DEPLOYMENTS,
    FUNCTIONS,
    GPU_STORAGES,
    GPU_UNITS,
    NETWORK_POLICIES,
    NODES,
    OPERATIONS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STOCK_POOLS,
)
from controller.namespaces import Namespaces
from controller.object_reader import ObjectReader
from controller.runtime import Client, Clock, ControllerBuilder, EventRecorder, Manager, Writer
from controller.volume_users import used_pvc_names
from shared.v1alpha1.reasons import EventReason

CONTROLLER_NAME: Final = "gpuunit"


def setup_with_manager(
    manager: Manager, caches: Caches, settings: UnitSettings, workers: int
) -> None:
    """Declare the controller of units."""
    controller = manager.controller(CONTROLLER_NAME)
    add_triggers(controller, caches, settings.namespaces)
    reconciler = create_reconciler(
        caches, manager.client, manager.writer, manager.recorder, settings, manager.clock
    )
    controller.reconcile(reconciler, workers)


def add_triggers(controller: ControllerBuilder, caches: Caches, namespaces: Namespaces) -> None:
    """Reconcile a unit when it changes, or an object that it owns, waits for or depends on."""
    triggers, instance = UnitTriggers(caches, namespaces), namespaces.instance
    controller.for_(GPU_UNITS, EventReason.FAILED)
    controller.watches(GPU_UNITS, triggers.units_from_stock, namespace=namespaces.stock)
    controller.on_change(GPU_UNITS, triggers.on_unit_deletion(), namespace=instance)
    for kind in (DEPLOYMENTS, SERVICES, NETWORK_POLICIES):
        controller.owns(kind).on_change(kind, triggers.on_name_release())
    controller.on_change(REPLICA_SETS, triggers.on_revision_change())
    controller.watches(PODS, triggers.units_of_child)
    freed = triggers.on_volume_release
    controller.on_change(PODS, freed(used_pvc_names), namespace=instance)
    controller.on_change(REPLICA_SETS, freed(replica_set_pvc_names), namespace=instance)
    controller.on_change(DEPLOYMENTS, freed(deployment_pvc_names), namespace=instance)
    controller.on_change(NODES, triggers.on_node_change())
    controller.watches(GPU_STORAGES, triggers.units_mounting)
    controller.on_change(FUNCTIONS, triggers.on_function_created_or_deleted())
    controller.watches(OPERATIONS, triggers.units_of_operation)
    controller.on_change(STOCK_POOLS, triggers.on_claim_counted())


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
