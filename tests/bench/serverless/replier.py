"""`python -m tests.bench.serverless.replier URL`: replies to every request with its data."""

import asyncio
import sys
from typing import Final

import nats
from nats.aio.msg import Msg

SUBJECT: Final = "bench.echo"


async def reply(message: Msg) -> None:
    """Send the data of a request back."""
    await message.respond(message.data)


async def run_replier(url: str) -> None:
    """Reply until the process is killed."""
    client = await nats.connect(url)
    await client.subscribe(SUBJECT, cb=reply)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(run_replier(sys.argv[1]))
