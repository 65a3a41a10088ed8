"""The HTTP server: listening, and draining connections at the stop."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from aiohttp import hdrs, web

from apiserver.http.protocol import (
    MAX_HEADER_LINE_BYTES,
    MAX_REQUEST_LINE_BYTES,
    FallbackResponder,
    JsonAppRunner,
    set_request_expected,
)
from shared.config.address import Address

# aiohttp waits this long twice, for the handler and then for its connection, and rounds up:
# together 25 s, after the drain.
SHUTDOWN_TIMEOUT_SECONDS: Final = 12.0
# During this time every response announces that its connection closes.
DRAIN_SECONDS: Final = 5.0
DRAIN_POLL_SECONDS: Final = 0.05
KEEPALIVE_SECONDS: Final = 75.0
HEAD_TIMEOUT_SECONDS: Final = 5.0
# The kernel delays the clients of a larger burst by a whole second.
BACKLOG: Final = 1024

log = logging.getLogger(__name__)


class CannotListenError(Exception):
    """The server cannot listen on the address."""


@asynccontextmanager
async def serve(
    app: web.Application, address: Address, fallback: FallbackResponder
) -> AsyncIterator[None]:
    """Serve `app` for the length of the block, then drain the connections.

    Closing a connection loses a request that is already on the network. So first every response
    announces the close of its connection, then the requests in flight are finished.
    """
    drain = ConnectionDrain()
    app.on_response_prepare.append(drain.mark_response)
    runner = JsonAppRunner(
        app,
        fallback,
        access_log=None,
        keepalive_timeout=KEEPALIVE_SECONDS,
        shutdown_timeout=SHUTDOWN_TIMEOUT_SECONDS,
        max_line_size=MAX_REQUEST_LINE_BYTES,
        max_field_size=MAX_HEADER_LINE_BYTES,
    )
    await runner.setup()
    try:
        await _listen(runner, address)
        yield
    finally:
        drain.is_draining = True
        await _drain_idle_connections(runner)
        await runner.cleanup()


class ConnectionDrain:
    """The state of the drain, which makes every response the last on its connection."""

    def __init__(self) -> None:
        self.is_draining = False

    async def mark_response(self, request: web.Request, response: web.StreamResponse) -> None:
        """Set Connection: close while draining; aiohttp has chosen the header before."""
        if self.is_draining:
            response.force_close()
            response.headers[hdrs.CONNECTION] = "close"
        elif response.keep_alive:
            set_request_expected(request, is_expected=True)


async def _drain_idle_connections(runner: JsonAppRunner) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while runner.has_expected_requests():  # noqa: ASYNC110 - aiohttp has no event for it
                await asyncio.sleep(DRAIN_POLL_SECONDS)


async def _listen(runner: web.AppRunner, address: Address) -> None:
    try:
        await web.TCPSite(runner, address.host or None, address.port, backlog=BACKLOG).start()
    except OSError as error:
        raise CannotListenError(
            f"cannot listen on {address}: {error.strerror}. Stop the process that uses the "
            "address, or set another address with --http-addr."
        ) from error
    host, port, *_ = runner.addresses[0]
    bound = Address(host, port)
    log.info(
        "listening", extra={"addr": str(bound), "url": bound.url, "docs": f"{bound.url}/swagger"}
    )
