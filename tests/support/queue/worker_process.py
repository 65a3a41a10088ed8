"""A worker and its framework as two processes, as in a pod."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.cluster.nats_server import NATSServer
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from tests.runner.ports import new_port
from tests.support.checks.invocation_checks import Execution
from tests.support.http.get import get
from tests.support.queue.recording_function import CALLS_FILE_VARIABLE, read_executions
from tests.support.wait.eventually import eventually


class WorkerProcess:
    """`python -m serverless.worker` beside a framework, in a folder of their own."""

    def __init__(
        self, state_dir: Path, function_name: str, server: NATSServer, concurrency: int
    ) -> None:
        self._state_dir = state_dir
        self._calls_file = state_dir / "calls"
        secret = state_dir / "queue"
        secret.mkdir(parents=True)
        credentials = {
            "url": server.url,
            "user": "admin",
            "password": server.password("admin"),
            "inboxPrefix": "_INBOX_of_a_test",
        }
        for name, value in credentials.items():
            (secret / name).write_text(value)
        self.url = f"http://{HOST}:{(port := new_port())}"
        self._environment = {
            CALLS_FILE_VARIABLE: str(self._calls_file),
            "GPU_RUNTIME_REQUEST_ID": function_name,
            "GPU_RUNTIME_WORKER": f"{function_name}-1",
            "GPU_RUNTIME_CONCURRENCY": str(concurrency),
            "GPU_RUNTIME_TIMEOUT_SECONDS": "60",
            "GPU_RUNTIME_SOCKET": str(state_dir / "f.sock"),
            "GPU_RUNTIME_QUEUE_SECRET": str(secret),
            "GPU_RUNTIME_HTTP_ADDR": f"{HOST}:{port}",
        }
        self.worker = self._process("serverless.worker")
        self.framework = self._process("tests.support.queue.recording_function")

    def _process(self, module: str) -> Process:
        command = Command(module, (sys.executable, "-m", module), self._environment)
        return Process(command, self._state_dir)

    def executions(self) -> list[Execution]:
        """Read the calls that the function has recorded; empty before the first one."""
        return read_executions(self._calls_file) if self._calls_file.exists() else []

    async def wait_ready(self) -> None:
        """Wait until the worker reports that queue and framework are connected."""
        await eventually(self._readiness, lambda response: response[0] == 200, tolerate=OSError)

    async def _readiness(self) -> tuple[int, object]:
        return await get(f"{self.url}/readyz")


@asynccontextmanager
async def run_worker_process(
    state_dir: Path, function_name: str, server: NATSServer, concurrency: int = 4
) -> AsyncIterator[WorkerProcess]:
    """Run both processes for the length of the block, unless the test stops them."""
    processes = WorkerProcess(state_dir, function_name, server, concurrency)
    processes.framework.start()
    processes.worker.start()
    try:
        yield processes
    finally:
        await processes.worker.kill()
        await processes.framework.kill()
