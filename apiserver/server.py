"""Listening, and stopping to listen without breaking a request."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from apiserver.malformed import LONGEST_ADDRESS, LONGEST_HEADER, EnvelopeRunner, Fallback
from shared.address import Address

# aiohttp waits this long twice, for the handler and then for its connection, and rounds up:
# together 25 s, which leaves 5 of the 30 that Kubernetes gives a pod.
DRAIN: Final = 12.0
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
    """Serve `app` for the length of the block, then finish the requests in flight."""
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
        await runner.cleanup()


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
