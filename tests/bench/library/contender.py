"""A program that measures one library, in a fresh process with the same arguments and reports."""

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from tests.bench.go_program import build_go_program
from tests.bench.library.widget_crd import RESOURCE
from tests.bench.reports import IdleReport, LatencyReport, SyncReport

T = TypeVar("T")

READY = b"ready\n"
MAX_SECONDS = 600


class ContenderError(Exception):
    """A measured program failed; the message is its error output."""


@dataclass(frozen=True)
class Contender:
    """The measuring program of one library."""

    name: str
    command: tuple[str, ...]

    async def sync(self, kubeconfig: Path, *options: str) -> SyncReport:
        """Fill its cache `-runs` times."""
        async with self._running("sync", kubeconfig, *options) as process:
            return await read_report(process, SyncReport)

    async def idle(self, kubeconfig: Path, *options: str) -> IdleReport:
        """Fill its cache, and then wait `-seconds`."""
        async with self._running("idle", kubeconfig, *options) as process:
            return await read_report(process, IdleReport)

    @asynccontextmanager
    async def latency(self, kubeconfig: Path) -> AsyncIterator["asyncio.Future[LatencyReport]"]:
        """Run until the end of the block, ready for changes; the future then gets the report."""
        report: asyncio.Future[LatencyReport] = asyncio.get_running_loop().create_future()
        seconds = f"-seconds={MAX_SECONDS}"
        async with self._running("latency", kubeconfig, seconds) as process:
            await wait_ready(process)
            yield report
            process.send_signal(signal.SIGINT)
            report.set_result(await read_report(process, LatencyReport))

    @asynccontextmanager
    async def _running(
        self, benchmark: str, kubeconfig: Path, *options: str
    ) -> AsyncIterator[Process]:
        process = await asyncio.create_subprocess_exec(
            *(*self.command, benchmark, f"-kubeconfig={kubeconfig}", f"-resource={RESOURCE}"),
            *options,
            stdout=PIPE,
            stderr=PIPE,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def wait_ready(process: Process) -> None:
    """Wait until the program writes its ready line; raises ContenderError when it ends."""
    assert process.stderr is not None
    async with asyncio.timeout(MAX_SECONDS):
        error_output = b""
        while (line := await process.stderr.readline()) != READY:
            error_output += line
            if not line:
                raise contender_error(await process.wait(), error_output)


async def read_report(process: Process, report_type: type[T]) -> T:
    """Return the JSON object that the program prints; raises ContenderError when it fails."""
    async with asyncio.timeout(MAX_SECONDS):
        output, error_output = await process.communicate()
    if process.returncode != 0:
        raise contender_error(process.returncode, error_output)
    return msgspec.json.decode(output, type=report_type)


def contender_error(code: int | None, stderr: bytes) -> ContenderError:
    return ContenderError(f"exit code {code}: {stderr.decode()}")


def client_go_contender() -> Contender:
    """Return the anchor, built if it is not in the cache."""
    return Contender("client-go", (str(build_go_program("anchor")),))
