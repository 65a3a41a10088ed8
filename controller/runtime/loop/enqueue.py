"""From the notices of an informer to the keys of a queue."""

from collections.abc import Callable
from typing import Any

from controller.runtime.cache.subscription import ChangeNotification
from controller.runtime.key import ObjectKey
from controller.runtime.loop.triggers import Trigger
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue


def enqueue_handler(
    queue: WorkQueue[ObjectKey], trigger: Trigger, priority: Priority = Priority.CHANGED
) -> Callable[[ChangeNotification[Any]], None]:
    """A handler that asks for the keys which `trigger` names; a backlog waits behind all news."""

    def handle(notice: ChangeNotification[Any]) -> None:
        urgency = Priority.BACKLOG if notice.is_backlog else priority
        for key in trigger(notice.old, notice.new):
            queue.add(key, urgency)

    return handle
