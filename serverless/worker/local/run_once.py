"""One invocation with no queue at all: the framework is called, and its answer printed."""

import asyncio
import sys
from typing import Final

from serverless.worker.clock import SystemClock
from serverless.worker.framework.client import FrameworkPlace, FrameworkSocket, framework_at
from serverless.worker.framework.request import request_headers
from serverless.worker.memory_budget import Memories
from serverless.worker.run.result_policy import Again, Outcome, verdict
from shared.config.exitcode import ExitCode
from shared.invocation import transition
from shared.invocation.queue_names import record_key
from shared.invocation.record import Body, Record, Request
from shared.invocation.state import State

START_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05


async def run(place: FrameworkPlace, request_id: str, payload: bytes) -> ExitCode:
    """Print what the function answers to `payload`; a failure is told on stderr."""
    now = SystemClock().now()
    request = Request(content_type="application/json", body=Body(inline=payload), max_attempts=1)
    record = transition.begun(transition.accepted(request, "local", "", now), "desk", 1, now)
    async with framework_at(place) as framework:
        try:
            async with asyncio.timeout(START_SECONDS):
                await _healthy(framework)
        except TimeoutError:
            sys.stderr.write(f"the function does not answer after {START_SECONDS:g} s\n")
            return ExitCode.FAILURE
        headers = request_headers(record_key(request_id, "once"), record)
        outcome = verdict(
            record, await framework.invoke(headers, bytearray(payload), Memories().hold()), now
        )
    return _told(record, outcome)


async def _healthy(framework: FrameworkSocket) -> None:
    while not await framework.is_healthy():  # noqa: ASYNC110 - nobody tells us
        await asyncio.sleep(POLL_SECONDS)


def _told(record: Record, outcome: Outcome | Again) -> ExitCode:
    if isinstance(outcome, Again):
        raise TypeError(f"attempt {record.attempts} is the last")
    sys.stdout.buffer.write(outcome.body)
    sys.stdout.buffer.flush()
    if outcome.state is State.SUCCEEDED:
        return ExitCode.CLEAN
    sys.stderr.write(f"{outcome.state}: {outcome.result.error}\n")
    return ExitCode.FAILURE
