"""The time in which a request must be received and answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from apiserver.errors import DeadlineError

BODY_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many seconds a request has for its body and for its answer."""

    answer: float
    body: float = BODY_TIMEOUT


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the answer of a request is due."""

    allowance: Allowance
    scope: asyncio.Timeout

    def allow(self, more: float = 0.0) -> None:
        """Count from now, with `more` seconds than usual."""
        self.scope.reschedule(asyncio.get_running_loop().time() + self.allowance.answer + more)

    def lift(self) -> None:
        """Let the answer go on for as long as somebody reads it."""
        self.scope.reschedule(None)

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[None]:
        """Count the length of the block as the body's time; TimeoutError when it is up."""
        self.scope.reschedule(None)
        async with asyncio.timeout(self.allowance.body):
            yield
        self.allow()


DEADLINE: Final = web.RequestKey("deadline", Deadline)


def deadlines(allowance: Allowance) -> Middleware:
    """Answer every request in time, also where what it started goes on."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        scope = asyncio.timeout(allowance.answer)
        request[DEADLINE] = Deadline(allowance, scope)
        try:
            async with scope:
                return await handler(request)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise DeadlineError(
                "the request was not finished in time; what it asked for may still happen",
                retry_after=1,
            ) from error

    return middleware
