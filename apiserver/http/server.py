"""Listening, and stopping to listen without breaking a request."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from aiohttp import hdrs, web

from apiserver.http.protocol import (
    LONGEST_ADDRESS,
    LONGEST_HEADER,
    EnvelopeRunner,
    Fallback,
    expect_request,
)
from shared.config.address import Address

# aiohttp waits this long twice, for the handler and then for its connection, and rounds up:
# together 25 s, after those of the parting.
DRAIN: Final = 12.0
# Whoever keeps a connection and asks on it within this time learns to open another one.
PARTING: Final = 5.0
PARTING_LOOK: Final = 0.05
KEEPALIVE: Final = 75.0
HEAD_TIMEOUT: Final = 5.0
# Clients of a burst beyond this are made to wait a whole second by the kernel.
BACKLOG: Final = 1024

log = logging.getLogger(__name__)


class CannotListenError(Exception):
    """The address cannot be listened on."""


@asynccontextmanager
async def listening(
    app: web.Application, address: Address, fallback: Fallback
) -> AsyncIterator[None]:
    """Serve `app` for the length of the block, then part with the callers.

    A connection that is closed while a request is on its way loses it, so first every answer says
    that it is the last on its connection; then the requests in flight are finished.
    """
    parting = Parting()
    app.on_response_prepare.append(parting.tell)
    runner = EnvelopeRunner(
        app,
        fallback,
        access_log=None,
        keepalive_timeout=KEEPALIVE,
        shutdown_timeout=DRAIN,
        max_line_size=LONGEST_ADDRESS,
        max_field_size=LONGEST_HEADER,
    )
    await runner.setup()
    try:
        await _listen(runner, address)
        yield
    finally:
        parting.has_begun = True
        await _part(runner)
        await runner.cleanup()


class Parting:
    """Whether answers are the last on their connections."""

    def __init__(self) -> None:
        self.has_begun = False

    async def tell(self, request: web.Request, response: web.StreamResponse) -> None:
        """Say so in `response`, whose own header was decided before."""
        if self.has_begun:
            response.force_close()
            response.headers[hdrs.CONNECTION] = "close"
        elif response.keep_alive:
            expect_request(request, expected=True)


async def _part(runner: EnvelopeRunner) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(PARTING):
            while runner.expects_requests():  # noqa: ASYNC110 - aiohttp has no event for it
                await asyncio.sleep(PARTING_LOOK)


async def _listen(runner: web.AppRunner, address: Address) -> None:
    try:
        await web.TCPSite(runner, address.host or None, address.port, backlog=BACKLOG).start()
    except OSError as error:
        raise CannotListenError(
            f"cannot listen on {address}: {error.strerror}. Stop what uses the address, or give "
            "another one with --http-addr."
        ) from error
    host, port, *_ = runner.addresses[0]
    bound = Address(host, port)
    log.info(
        "listening", extra={"addr": str(bound), "url": bound.url, "docs": f"{bound.url}/swagger"}
    )
