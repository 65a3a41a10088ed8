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
GRACE: Final = 4.0

log = logging.getLogger(__name__)


class Detached:
    """Owns the work of an application; a request only waits for it."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which goes on to its end also when the caller is cancelled."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._group.create_task(_carry_out(work, result), name="detached work")
        return await result


async def _carry_out(work: Coroutine[Any, Any, T], result: asyncio.Future[T]) -> None:
    """Run `work`; a failure is the waiting request's, and must not end the work of others."""
    try:
        value = await work
    except Exception as error:
        if not result.cancelled():
            result.set_exception(error)
        elif not isinstance(
            error, ServiceError | kube_errors.ClusterError | QueueError
        ):  # nobody waits who would log it
            log.exception("detached_work_failed")
    except asyncio.CancelledError:
        result.cancel()
        raise
    else:
        if not result.cancelled():
            result.set_result(value)


@asynccontextmanager
async def detached_work(grace: float = GRACE) -> AsyncIterator[Detached]:
    """Let work be started for the length of the block, and then finish within `grace` seconds."""
    try:
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
            yield Detached(group)
            limit.reschedule(asyncio.get_running_loop().time() + grace)
    except TimeoutError:
        log.warning("detached_work_cut_off", extra={"graceSeconds": grace})
