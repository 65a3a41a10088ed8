"""Cleanup of a test run after any kind of end: nothing is left, and other runs are untouched."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from hack.local.state_dir import ROOT
from tests.runner.ports import BLOCK_SIZE, BLOCK_STARTS, new_port, new_ports, take_block
from tests.runner.run_directory import run_processes, runs_directory
from tests.support.wait.eventually import eventually

# Each test starts a process that outlives its parent, as the parts of a control plane do.
WAITING = """
import pathlib, subprocess, time

def start(name):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    pathlib.Path("{folder}", name).write_text(str(child.pid))

def test_one():
    start("one")
    time.sleep(600)

def test_two():
    start("two")
    time.sleep(600)
"""
# Without this setting, loading all plugins takes longer than the rest of a run.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "PYTEST_ADDOPTS": "",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
UNMARKED = """
import subprocess

def test_that_starts_a_process_of_its_own():
    subprocess.run(("true",), env={"PATH": "/usr/bin:/bin"}, check=True)
"""
PASSING = "def test_nothing():\n    pass\n"
FAILING = """
def test_that_fails(tmp_path):
    (tmp_path / "server.log").write_text("server_started\\n")
    assert 1 + 1 == 3, "sums differ"

def test_that_passes():
    pass
"""


class Checkout:
    """A folder with its own tests, run with the same plugin as ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def write(self, text: str) -> None:
        path = self.folder / "tests" / "kube" / "test_sample.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{folder}", str(self.folder)))

    @asynccontextmanager
    async def run(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run the tests for the length of the block, in a new process group."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-p", "xdist", "-p", "tests.runner.plugin"),
            *("-p", "no:cacheprovider", "--rootdir", str(self.folder)),
            *("-o", "console_output_style=classic", "--no-loadscope-reorder"),
            *(*arguments, "tests"),
            cwd=self.folder,
            env={**os.environ, **ENVIRONMENT},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def started(self) -> list[psutil.Process]:
        """Return the processes that the waiting tests start, once they run."""
        files = [self.folder / "one", self.folder / "two"]
        await eventually(lambda: asyncio.sleep(0, all(file.exists() for file in files)))
        return [psutil.Process(int(file.read_text())) for file in files]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


async def result_of(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    output, _ = await process.communicate()
    return process.returncode, output.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("to_all", [True, False], ids=["from the terminal", "from another process"])
async def test_an_interrupted_run_leaves_no_process_and_no_file(
    checkout: Checkout, number: signal.Signals, to_all: bool
) -> None:
    checkout.write(WAITING)
    async with checkout.run("-n", "2") as process:
        children = await checkout.started()
        os.killpg(process.pid, number) if to_all else process.send_signal(number)
        code, output = await result_of(process)
    assert code == pytest.ExitCode.INTERRUPTED, output
    assert not any(child.is_running() for child in children)
    assert [path.name for path in runs_directory(checkout.folder).iterdir()] == ["lock"]


async def test_after_a_kill_the_next_run_of_the_checkout_ends_only_its_leftover_processes(
    checkout: Checkout, tmp_path: Path
) -> None:
    other_checkout = Checkout(tmp_path / "other")
    for folder in (checkout, other_checkout):
        folder.write(WAITING)
    async with checkout.run("-n", "2") as killed, other_checkout.run("-n", "2") as other:
        leftovers = await checkout.started()
        other_children = await other_checkout.started()
        killed.kill()
        await killed.communicate()
        assert all(child.is_running() for child in leftovers)

        checkout.write(PASSING)
        async with checkout.run() as process:
            code, output = await result_of(process)

        assert code == 0, output
        assert not any(child.is_running() for child in leftovers)
        assert all(child.is_running() for child in other_children)
        assert [path.name for path in runs_directory(checkout.folder).iterdir()] == ["lock"]
        other.send_signal(signal.SIGINT)
        await other.communicate()
    assert run_processes(runs_directory(other_checkout.folder)) == []


async def test_a_second_run_of_the_same_checkout_does_not_end_the_first(
    checkout: Checkout,
) -> None:
    checkout.write(WAITING)
    async with checkout.run("-n", "2") as first:
        children = await checkout.started()
        checkout.write(PASSING)
        async with checkout.run() as second:
            code, output = await result_of(second)
        assert code == 0, output
        assert all(child.is_running() for child in children)
        first.send_signal(signal.SIGINT)
        await first.communicate()


@pytest.mark.parametrize("workers", ["0", "2"])
async def test_the_output_names_the_logs_of_a_failure_and_has_a_line_for_each_file(
    checkout: Checkout, workers: str
) -> None:
    checkout.write(FAILING)
    async with checkout.run("-n", workers) as process:
        code, output = await result_of(process)
    assert code == 1, output
    assert "[100%] tests/kube/test_sample.py  1 failed, 1 passed" in output
    match = re.search(r"FAILED \S+::test_that_fails \(call\), logs: (\S+)", output)
    assert match, output
    folder = checkout.folder / match[1]
    assert "sums differ" in (folder / "call.txt").read_text()
    (log,) = folder.glob("*server.log")
    assert log.read_text() == "server_started\n"


async def test_a_process_without_a_run_mark_is_not_started(
    checkout: Checkout,
) -> None:
    checkout.write(UNMARKED)
    async with checkout.run() as process:
        code, output = await result_of(process)
    assert code == 1, output
    assert "UnmarkedProcessError" in output
    assert "start it with with_run_mark(environment)" in output


async def test_a_failure_with_keep_waits_for_enter(checkout: Checkout) -> None:
    checkout.write(WAITING.replace("time.sleep(600)", "assert not 'fine'"))
    async with checkout.run("--keep", "-x") as process:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while b"Press Enter to continue" not in (line := await process.stdout.readline()):
                assert line, "it did not wait"
        child = psutil.Process(int((checkout.folder / "one").read_text()))
        assert child.is_running()
        output, _ = await process.communicate(b"\n")
    assert process.returncode == 1, output.decode()
    assert not child.is_running()


async def test_port_blocks_and_ports_are_allocated_once() -> None:
    first, second = take_block(), take_block()
    try:
        assert first.first != second.first
        assert {first.first, second.first} <= set(BLOCK_STARTS)
    finally:
        first.close()
        second.close()
    ports = [new_port() for _ in range(20)]
    assert len({*ports, *new_ports(100)}) == 120
    assert len({port // BLOCK_SIZE for port in ports}) == 1
