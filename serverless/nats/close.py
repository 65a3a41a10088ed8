"""Leaving the queue, in whatever state the connection is."""

import asyncio
import logging
from typing import Final

import nats.errors
from nats.aio.client import Client

from serverless.nats.cancellation import preserve_cancellation

CLOSE_TIMEOUT_SECONDS: Final = (
    3.0  # the client itself waits two for a connect that it has broken off
)

log = logging.getLogger(__name__)


async def close_quietly(client: Client) -> None:
    """Close the connection; what cannot be sent any more is not.

    The client fails here if the other side is gone, in the place of a cancellation on its way,
    and waits for ever if the other side does not read.
    """
    try:
        with preserve_cancellation():
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await client.close()
    except (nats.errors.Error, OSError, TimeoutError) as error:
        log.info("queue_left_open", extra={"reason": str(error) or repr(error)})
