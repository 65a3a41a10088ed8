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
class Patience:
    """How many seconds a request has for its body and for its answer."""

    answer: float
    body: float = BODY_TIMEOUT


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the answer of a request is due."""

    patience: Patience
    scope: asyncio.Timeout

    def allow(self, more: float = 0.0) -> None:
        """Count from now, with `more` seconds than usual."""
        self.scope.reschedule(asyncio.get_running_loop().time() + self.patience.answer + more)

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[None]:
        """Count the length of the block as the body's time; TimeoutError when it is up."""
        self.scope.reschedule(None)
        async with asyncio.timeout(self.patience.body):
            yield
        self.allow()


DEADLINE: Final = web.RequestKey("deadline", Deadline)


def deadlines(patience: Patience) -> Middleware:
    """Answer every request in time, also where what it started goes on."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        scope = asyncio.timeout(patience.answer)
        request[DEADLINE] = Deadline(patience, scope)
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
