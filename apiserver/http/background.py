"""Work that goes on when the request that started it is gone."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError

T = TypeVar("T")

# Once the server has drained its connections; together they take less than a pod is given.
GRACE_SECONDS: Final = 4.0

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Owns the work of an application; a request only waits for it."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which goes on to its end also when the caller is cancelled."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._group.create_task(_run_and_deliver(coroutine, result), name="detached work")
        return await result


async def _run_and_deliver(coroutine: Coroutine[Any, Any, T], result: asyncio.Future[T]) -> None:
    """Run `work`; a failure is the waiting request's, and must not end the work of others."""
    try:
        value = await coroutine
    except Exception as error:
        if not result.cancelled():
            result.set_exception(error)
        elif not isinstance(
            error, ServiceError | kube_errors.KubeError | QueueError
        ):  # nobody waits who would log it
            log.exception("detached_work_failed")
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
    """Let work be started for the length of the block, and then finish within `grace` seconds."""
    try:
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
            yield BackgroundTasks(group)
            limit.reschedule(asyncio.get_running_loop().time() + grace_seconds)
    except TimeoutError:
        log.warning("detached_work_cut_off", extra={"graceSeconds": grace_seconds})
