"""Tasks that outlive the request that started them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError

T = TypeVar("T")

# After the connections are drained; the sum is less than the termination grace of a pod.
GRACE_SECONDS: Final = 4.0

log = logging.getLogger(__name__)


class BackgroundTasks:
    """The background tasks of an application; requests wait for their results."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine that runs to its end even if the caller is cancelled."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._group.create_task(_run_and_deliver(coroutine, result), name="background task")
        return await result


async def _run_and_deliver(coroutine: Coroutine[Any, Any, T], result: asyncio.Future[T]) -> None:
    """Run a coroutine; its error goes to the waiting request and does not end other tasks."""
    try:
        value = await coroutine
    except Exception as error:
        if not result.cancelled():
            result.set_exception(error)
        elif not isinstance(error, ServiceError | kube_errors.KubeError | QueueError):
            log.exception("detached_work_failed")  # no request waits for the error any more
    except asyncio.CancelledError:
        result.cancel()
        raise
    else:
        if not result.cancelled():
            result.set_result(value)


@asynccontextmanager
async def run_background_tasks(
    grace_seconds: float = GRACE_SECONDS,
) -> AsyncIterator[BackgroundTasks]:
    """Accept tasks for the length of the block, then wait `grace_seconds` for their end."""
    try:
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
            yield BackgroundTasks(group)
            limit.reschedule(asyncio.get_running_loop().time() + grace_seconds)
    except TimeoutError:
        log.warning("detached_work_cut_off", extra={"graceSeconds": grace_seconds})
