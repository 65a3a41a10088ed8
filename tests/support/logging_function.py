"""A function that writes down every call before it answers; a program of its own."""

import asyncio
import os
from pathlib import Path

from serverless.framework import Invocation, serve
from serverless.worker.clock import SystemClock


async def handle(given: Invocation) -> str:
    line = f"{given.id} {given.run} {given.attempt} {SystemClock().now()}\n"
    with Path(os.environ["EXECUTIONS"]).open("a") as log:  # noqa: ASYNC230 - one line
        log.write(line)
    await asyncio.sleep(given.attributes.get("sleepSeconds", 0))
    if "exit" in given.attributes:
        os._exit(3)
    return f"{given.id}/{given.run}/{given.attempt}"


if __name__ == "__main__":
    serve(handle)
