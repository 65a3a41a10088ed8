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
from serverless.worker.clock import SystemClock
from tests.support.checks.invocation_checks import Execution
from tests.support.wait.eventually import SHORTEST_PAUSE_SECONDS

NOTEBOOK: Final = "NOTEBOOK"


async def note(given: Invocation) -> str:
    """Answer with which attempt this is."""
    line = json.dumps([given.id, given.run, given.attempt, SystemClock().now()])
    with Path(os.environ[NOTEBOOK]).open("a") as notebook:  # noqa: ASYNC230 - one short line
        notebook.write(f"{line}\n")
    gate = Path(given.attributes.get("until", "/"))
    while not gate.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(SHORTEST_PAUSE_SECONDS)
    await asyncio.sleep(float(given.attributes.get("sleepSeconds", 0)))
    return f"{given.id}/{given.run}/{given.attempt}"


def executions(notebook: Path) -> list[Execution]:
    """All calls that were noted."""
    return [Execution(*json.loads(line)) for line in notebook.read_text().splitlines()]


if __name__ == "__main__":
    serve(note)
