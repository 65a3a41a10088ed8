"""A function that writes down every call before it answers; a program of its own.

The attribute `sleepSeconds` says how long a call takes, once there is the file that `until` names.
"""

import asyncio
import os
from pathlib import Path

from serverless.framework import Invocation, serve
from serverless.worker.clock import SystemClock
from tests.support.wait.eventually import SHORTEST_PAUSE_SECONDS


async def handle(given: Invocation) -> str:
    line = f"{given.id} {given.run} {given.attempt} {SystemClock().now()}\n"
    with Path(os.environ["EXECUTIONS"]).open("a") as log:  # noqa: ASYNC230 - one line
        log.write(line)
    gate = Path(given.attributes.get("until", "/"))
    while not gate.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(SHORTEST_PAUSE_SECONDS)
    await asyncio.sleep(given.attributes.get("sleepSeconds", 0))
    if "exit" in given.attributes:
        os._exit(3)
    return f"{given.id}/{given.run}/{given.attempt}"


if __name__ == "__main__":
    serve(handle)
