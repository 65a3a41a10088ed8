"""Closes a NATS connection in any state."""

import asyncio
import logging
from typing import Final

import nats.errors
from nats.aio.client import Client

from serverless.nats.cancellation import preserve_cancellation

# The client itself waits two seconds for a connect that it has interrupted.
CLOSE_TIMEOUT_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


async def close_quietly(client: Client) -> None:
    """Close the connection, and drop what cannot be sent in time.

    If the server is gone, the client raises here, also in place of a pending cancellation. If the
    server does not read, the client would wait without a limit.
    """
    try:
        with preserve_cancellation():
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await client.close()
    except (nats.errors.Error, OSError, TimeoutError) as error:
        log.info("queue_left_open", extra={"reason": str(error) or repr(error)})
