"""The time in which a request must be received and answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from apiserver.errors import DeadlineExceededError

BODY_TIMEOUT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class RequestTimeLimits:
    """How many seconds a request has for its body and for its answer."""

    answer_seconds: float
    body_seconds: float = BODY_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the answer of a request is due."""

    limits: RequestTimeLimits
    timeout: asyncio.Timeout

    def restart(self, extra_seconds: float = 0.0) -> None:
        """Count from now, with `more` seconds than usual."""
        self.timeout.reschedule(
            asyncio.get_running_loop().time() + self.limits.answer_seconds + extra_seconds
        )

    def disable(self) -> None:
        """Let the answer go on for as long as somebody reads it."""
        self.timeout.reschedule(None)

    @asynccontextmanager
    async def body_time_limit(self) -> AsyncIterator[None]:
        """Count the length of the block as the body's time; TimeoutError when it is up."""
        self.timeout.reschedule(None)
        async with asyncio.timeout(self.limits.body_seconds):
            yield
        self.restart()


DEADLINE: Final = web.RequestKey("deadline", Deadline)


def deadline_middleware(limits: RequestTimeLimits) -> Middleware:
    """Answer every request in time, also where what it started goes on."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        scope = asyncio.timeout(limits.answer_seconds)
        request[DEADLINE] = Deadline(limits, scope)
        try:
            async with scope:
                return await handler(request)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise DeadlineExceededError(
                "the request was not finished in time; what it asked for may still happen",
                retry_after=1,
            ) from error

    return middleware
