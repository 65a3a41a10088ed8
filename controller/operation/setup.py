"""Construction of the control loop of operations."""

from typing import Final

from controller.caches import Caches
from controller.operation.reconciler import OperationReconciler
from controller.runtime import ControlLoop, LoopFactory, enqueue_handler, own_key

LOOP_NAME: Final = "operation"
WORKERS: Final = 2


def create_control_loop(
    reconciler: OperationReconciler, caches: Caches, loop_factory: LoopFactory
) -> ControlLoop:
    """Make the loop over all operations in the caches; it is not started."""
    queue = loop_factory.new_queue(LOOP_NAME)
    caches.operations.subscribe(enqueue_handler(queue, own_key()))
    return loop_factory.new_loop(LOOP_NAME, WORKERS, queue, reconciler)
