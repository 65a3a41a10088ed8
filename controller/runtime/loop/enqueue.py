"""From the notices of an informer to the keys of a queue."""

from collections.abc import Callable
from typing import Any

from controller.runtime.cache.subscription import Notice
from controller.runtime.key import ObjectKey
from controller.runtime.loop.triggers import Trigger
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue


def feed(
    queue: WorkQueue[ObjectKey], trigger: Trigger, priority: Priority = Priority.CHANGED
) -> Callable[[Notice[Any]], None]:
    """A handler that asks for the keys which `trigger` names; a backlog waits behind all news."""

    def handle(notice: Notice[Any]) -> None:
        urgency = Priority.BACKLOG if notice.backlog else priority
        for key in trigger(notice.old, notice.new):
            queue.add(key, urgency)

    return handle
