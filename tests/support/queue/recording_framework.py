"""A framework inside the test's process that remembers every call of its code."""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from serverless.framework import Invocation, Response, Retryable
from serverless.framework.server import application, serving
from serverless.worker.clock import SystemClock
from tests.support.checks.invocation_checks import Execution


class RecordingFramework:
    """Answers with the run and the attempt, so that a result tells whose it is.

    Attributes: `sleepSeconds`, `failAttempts`, `fail`, `answerBytes`, and `wait`, which holds
    an invocation until `let_go` is set.
    """

    def __init__(self, executions: list[Execution]) -> None:
        self.executions = executions
        self.running: dict[str, int] = defaultdict(int)
        self.received: dict[str, int] = {}
        self.most_running = 0
        self.let_go = asyncio.Event()

    async def handle(self, given: Invocation) -> Response:
        """The handler to serve."""
        now = SystemClock().now()
        self.executions.append(Execution(given.id, given.run, given.attempt, now))
        self.received[given.id] = len(given.body)
        self.running[given.id] += 1
        self.most_running = max(self.most_running, sum(self.running.values()))
        try:
            return await self._answer(given)
        finally:
            self.running[given.id] -= 1

    async def _answer(self, given: Invocation) -> Response:
        told = given.attributes
        await asyncio.sleep(told.get("sleepSeconds", 0))
        if told.get("wait"):
            await self.let_go.wait()
        if given.attempt <= told.get("failAttempts", 0):
            raise Retryable("told to")
        if "fail" in told:
            raise ValueError(told["fail"])
        if "answerBytes" in told:
            return Response(b"x" * told["answerBytes"])
        return Response(f"{given.id}/{given.run}/{given.attempt}".encode())


@asynccontextmanager
async def recording(executions: list[Execution]) -> AsyncIterator[tuple[RecordingFramework, Path]]:
    """A framework on a socket for the length of the block."""
    framework = RecordingFramework(executions)
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        path = Path(folder) / "framework.sock"
        async with serving(application(framework.handle, {}), path):
            yield framework, path
            framework.let_go.set()
