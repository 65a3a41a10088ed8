"""Construction of the controller of operations."""

from typing import Final

from controller.caches import Caches
from controller.kinds import OPERATIONS
from controller.namespaces import Namespaces
from controller.object_reader import ObjectReader
from controller.operation.reconciler import OperationReconciler
from controller.runtime import Manager
from shared.v1alpha1.reasons import EventReason

CONTROLLER_NAME: Final = "operation"
WORKERS: Final = 2


def setup_with_manager(
    manager: Manager, caches: Caches, namespaces: Namespaces, retention_seconds: float
) -> None:
    """Declare the controller of operations, which keeps finished ones for the retention."""
    controller = manager.controller(CONTROLLER_NAME).for_(OPERATIONS, EventReason.FAILED)
    reader = ObjectReader(caches, manager.client, namespaces)
    reconciler = OperationReconciler(
        caches, reader, manager.writer, manager.clock, retention_seconds
    )
    controller.reconcile(reconciler, WORKERS)
