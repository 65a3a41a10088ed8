"""A framework inside the test's process that records every call of its handler."""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from serverless.framework import Invocation, Response, Retryable
from serverless.framework.server import create_app, serving
from serverless.worker.clock import SystemClock
from shared.time import now_ms
from tests.support.checks.invocation_checks import Execution


class RecordingFramework:
    """A framework that responds with the run and the attempt of the call.

    Attributes: `sleepSeconds`, `failAttempts`, `fail`, `answerBytes`, and `wait`, which holds an
    invocation until `release` is set.
    """

    def __init__(self, executions: list[Execution]) -> None:
        self.executions = executions
        self.running_by_invocation: dict[str, int] = defaultdict(int)
        self.received_bytes: dict[str, int] = {}
        self.max_running = 0
        self.release = asyncio.Event()

    async def handle(self, invocation: Invocation) -> Response:
        """Record a call, and respond as its attributes say."""
        now = now_ms(SystemClock())
        self.executions.append(Execution(invocation.id, invocation.run, invocation.attempt, now))
        self.received_bytes[invocation.id] = len(invocation.body)
        self.running_by_invocation[invocation.id] += 1
        self.max_running = max(self.max_running, sum(self.running_by_invocation.values()))
        try:
            return await self._respond(invocation)
        finally:
            self.running_by_invocation[invocation.id] -= 1

    async def _respond(self, invocation: Invocation) -> Response:
        attributes = invocation.attributes
        await asyncio.sleep(attributes.get("sleepSeconds", 0))
        if attributes.get("wait"):
            await self.release.wait()
        if invocation.attempt <= attributes.get("failAttempts", 0):
            raise Retryable("requested by failAttempts")
        if "fail" in attributes:
            raise ValueError(attributes["fail"])
        if "answerBytes" in attributes:
            return Response(b"x" * attributes["answerBytes"])
        return Response(f"{invocation.id}/{invocation.run}/{invocation.attempt}".encode())


@asynccontextmanager
async def serve_recording_framework(
    executions: list[Execution],
) -> AsyncIterator[tuple[RecordingFramework, Path]]:
    """Serve a framework on a socket for the length of the block."""
    framework = RecordingFramework(executions)
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        path = Path(folder) / "framework.sock"
        async with serving(create_app(framework.handle, {}), path):
            yield framework, path
            framework.release.set()
