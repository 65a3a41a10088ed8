"""A function that writes down every call before it answers; a program of its own.

The attribute `sleepSeconds` says how long a call takes, once there is the file that `until` names.
"""

import asyncio
import os
from pathlib import Path

from serverless.framework import Invocation, serve
from serverless.worker.clock import SystemRecordClock
from tests.support.wait.eventually import MIN_PAUSE_SECONDS


async def handle(invocation: Invocation) -> str:
    line = f"{invocation.id} {invocation.run} {invocation.attempt} {SystemRecordClock().now_ms()}\n"
    with Path(os.environ["EXECUTIONS"]).open("a") as log:  # noqa: ASYNC230 - one line
        log.write(line)
    gate = Path(invocation.attributes.get("until", "/"))
    while not gate.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(MIN_PAUSE_SECONDS)
    await asyncio.sleep(invocation.attributes.get("sleepSeconds", 0))
    if "exit" in invocation.attributes:
        os._exit(3)
    return f"{invocation.id}/{invocation.run}/{invocation.attempt}"


if __name__ == "__main__":
    serve(handle)
