"""Time limits for the body and for the response of a request."""

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
    """The seconds that a request has for its body and for its response."""

    response_seconds: float
    body_seconds: float = BODY_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time limit of one response, which its handler can move."""

    limits: RequestTimeLimits
    timeout: asyncio.Timeout

    def restart(self, extra_seconds: float = 0.0) -> None:
        """Start the time limit again, `extra_seconds` longer."""
        self.timeout.reschedule(
            asyncio.get_running_loop().time() + self.limits.response_seconds + extra_seconds
        )

    def disable(self) -> None:
        """Remove the limit, for a stream that lasts as long as its client reads."""
        self.timeout.reschedule(None)

    @asynccontextmanager
    async def body_time_limit(self) -> AsyncIterator[None]:
        """Apply the body's time limit to the block instead; raises TimeoutError."""
        self.timeout.reschedule(None)
        async with asyncio.timeout(self.limits.body_seconds):
            yield
        self.restart()


DEADLINE: Final = web.RequestKey("deadline", Deadline)


def deadline_middleware(limits: RequestTimeLimits) -> Middleware:
    """Respond to every request in time, even if the work that it started continues."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        scope = asyncio.timeout(limits.response_seconds)
        request[DEADLINE] = Deadline(limits, scope)
        try:
            async with scope:
                return await handler(request)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise DeadlineExceededError(
                "the request was not finished in time; it may still take effect",
                retry_after=1,
            ) from error

    return middleware
