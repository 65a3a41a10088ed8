"""How the records of operations are watched and worked on."""

from typing import Final

from controller.caches import Caches
from controller.operation.reconciler import OperationReconciler
from controller.runtime.loop.control_loop import ControlLoop
from controller.runtime.loop.enqueue import feed
from controller.runtime.loop.loop_factory import Loops
from controller.runtime.loop.triggers import itself

NAME: Final = "operation"
WORKERS: Final = 2


def control_loop(subject: OperationReconciler, caches: Caches, loops: Loops) -> ControlLoop:
    """A loop over all records that the caches know, not yet started."""
    queue = loops.queue(NAME)
    caches.operations.subscribe(feed(queue, itself()))
    return loops.loop(NAME, WORKERS, queue, subject)
