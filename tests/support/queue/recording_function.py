"""A function program that records every call: `python -m tests.support.queue.recording_function`.

The environment variable `NOTEBOOK` names the file to append to. A call waits until the file in the
attribute `until` exists, then `sleepSeconds`; with the attribute `exit` it ends the process.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Final

from serverless.framework import Invocation, serve
from serverless.worker.clock import SystemClock
from shared.time import now_ms
from tests.support.checks.invocation_checks import Execution
from tests.support.wait.eventually import MIN_PAUSE_SECONDS

CALLS_FILE_VARIABLE: Final = "NOTEBOOK"
EXIT_CODE: Final = 3


async def record_call(invocation: Invocation) -> str:
    """Append the call to the file, and respond with invocation, run and attempt."""
    line = json.dumps([invocation.id, invocation.run, invocation.attempt, now_ms(SystemClock())])
    with Path(os.environ[CALLS_FILE_VARIABLE]).open("a") as calls:  # noqa: ASYNC230 - one short line
        calls.write(f"{line}\n")
    release_file = Path(invocation.attributes.get("until", "/"))
    while not release_file.exists():  # noqa: ASYNC110, ASYNC240 - another process creates it
        await asyncio.sleep(MIN_PAUSE_SECONDS)
    await asyncio.sleep(float(invocation.attributes.get("sleepSeconds", 0)))
    if "exit" in invocation.attributes:
        os._exit(EXIT_CODE)
    return f"{invocation.id}/{invocation.run}/{invocation.attempt}"


def read_executions(calls_file: Path) -> list[Execution]:
    """Read the recorded calls; raises FileNotFoundError before the first one."""
    return [Execution(*json.loads(line)) for line in calls_file.read_text().splitlines()]


if __name__ == "__main__":
    serve(record_call)
