"""A program that measures one library: fresh process each time, arguments and answers alike."""

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from tests.bench.library.widget_crd import RESOURCE
from tests.bench.reports import IdleReport, LatencyReport, SyncReport

T = TypeVar("T")

READY = b"ready\n"
MAX_SECONDS = 600


class ContenderError(Exception):
    """A measured program failed; the message is what it said."""


@dataclass(frozen=True)
class Contender:
    """One library's measuring program."""

    name: str
    command: tuple[str, ...]

    async def sync(self, kubeconfig: Path, *options: str) -> SyncReport:
        """Let it fill its cache as often as `-runs` says."""
        async with self._running("sync", kubeconfig, *options) as process:
            return await read_report(process, SyncReport)

    async def idle(self, kubeconfig: Path, *options: str) -> IdleReport:
        """Let it fill its cache and then do nothing for as long as `-seconds` says."""
        async with self._running("idle", kubeconfig, *options) as process:
            return await read_report(process, IdleReport)

    @asynccontextmanager
    async def latency(self, kubeconfig: Path) -> AsyncIterator["asyncio.Future[LatencyReport]"]:
        """Ready inside the block for changes to be made; the answer is there after it."""
        told: asyncio.Future[LatencyReport] = asyncio.get_running_loop().create_future()
        seconds = f"-seconds={MAX_SECONDS}"
        async with self._running("latency", kubeconfig, seconds) as process:
            await wait_ready(process)
            yield told
            process.send_signal(signal.SIGINT)
            told.set_result(await read_report(process, LatencyReport))

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
    """Wait until it says so."""
    assert process.stderr is not None
    async with asyncio.timeout(MAX_SECONDS):
        said = b""
        while (line := await process.stderr.readline()) != READY:
            said += line
            if not line:
                raise contender_error(await process.wait(), said)


async def read_report(process: Process, report_type: type[T]) -> T:
    """Its one JSON object."""
    async with asyncio.timeout(MAX_SECONDS):
        output, said = await process.communicate()
    if process.returncode != 0:
        raise contender_error(process.returncode, said)
    return msgspec.json.decode(output, type=report_type)


def contender_error(code: int | None, stderr: bytes) -> ContenderError:
    return ContenderError(f"exit code {code}: {stderr.decode()}")
