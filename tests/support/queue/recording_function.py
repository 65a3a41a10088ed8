"""`python -m tests.support.queue.recording_function`: a function that notes every call of its code.

`NOTEBOOK` is the file; the attribute `sleepSeconds` says how long a call takes, once there is the
file that `until` names.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Final

from serverless.framework import Invocation, serve
from serverless.worker.clock import SystemRecordClock
from tests.support.checks.invocation_checks import Execution
from tests.support.wait.eventually import MIN_PAUSE_SECONDS

CALLS_FILE_VARIABLE: Final = "NOTEBOOK"


async def record_call(invocation: Invocation) -> str:
    """Answer with which attempt this is."""
    line = json.dumps(
        [invocation.id, invocation.run, invocation.attempt, SystemRecordClock().now_ms()]
    )
    with Path(os.environ[CALLS_FILE_VARIABLE]).open("a") as notebook:  # noqa: ASYNC230 - one short line
        notebook.write(f"{line}\n")
    gate = Path(invocation.attributes.get("until", "/"))
    while not gate.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(MIN_PAUSE_SECONDS)
    await asyncio.sleep(float(invocation.attributes.get("sleepSeconds", 0)))
    return f"{invocation.id}/{invocation.run}/{invocation.attempt}"


def read_executions(calls_file: Path) -> list[Execution]:
    """All calls that were noted."""
    return [Execution(*json.loads(line)) for line in calls_file.read_text().splitlines()]


if __name__ == "__main__":
    serve(record_call)
