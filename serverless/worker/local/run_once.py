"""Runs one invocation without NATS and prints the result."""

import asyncio
import sys
from typing import Final

from serverless.worker.clock import SystemClock
from serverless.worker.framework.client import (
    FrameworkClient,
    FrameworkEndpoint,
    open_framework_client,
)
from serverless.worker.framework.request import request_headers
from serverless.worker.memory_budget import MemoryBudgets
from serverless.worker.run.result_policy import Retry, RunOutcome, decide_result
from shared.config.exitcode import ExitCode
from shared.invocation import transition
from shared.invocation.queue_names import record_key
from shared.invocation.record import InvocationBody, InvocationRecord, InvocationRequest
from shared.invocation.state import InvocationState
from shared.time import now_ms

START_TIMEOUT_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05


async def run_once(endpoint: FrameworkEndpoint, function_name: str, payload: bytes) -> ExitCode:
    """Print the response to `payload`; a failure goes to stderr."""
    now = now_ms(SystemClock())
    request = InvocationRequest(
        content_type="application/json", body=InvocationBody(inline=payload), max_attempts=1
    )
    record = transition.attempt_started(
        transition.new_record(request, "local", "", now), "desk", 1, now
    )
    async with open_framework_client(endpoint) as framework:
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await _wait_until_healthy(framework)
        except TimeoutError:
            sys.stderr.write(f"the function is not healthy after {START_TIMEOUT_SECONDS:g} s\n")
            return ExitCode.FAILURE
        headers = request_headers(record_key(function_name, "once"), record)
        outcome = decide_result(
            record,
            await framework.invoke(headers, bytearray(payload), MemoryBudgets().for_attempt()),
            now,
        )
    return _print_result(record, outcome)


async def _wait_until_healthy(framework: FrameworkClient) -> None:
    while not await framework.is_healthy():  # noqa: ASYNC110 - the framework sends no notification
        await asyncio.sleep(POLL_SECONDS)


def _print_result(record: InvocationRecord, result: RunOutcome | Retry) -> ExitCode:
    if isinstance(result, Retry):
        raise TypeError(f"attempt {record.attempts} is the last")
    sys.stdout.buffer.write(result.body)
    sys.stdout.buffer.flush()
    if result.state is InvocationState.SUCCEEDED:
        return ExitCode.CLEAN
    sys.stderr.write(f"{result.state}: {result.result.error}\n")
    return ExitCode.FAILURE
