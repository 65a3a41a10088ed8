"""The environment of everything that a run starts: its mark, temporary files and ports."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from hack.cluster import ports as local_ports
from tests.runner.ports import BLOCK_SIZE, PortBlock, start_counter, take_block
from tests.runner.run_directory import RUN_VARIABLE, RunDirectory, new_run_directory

# The upper part of a block is for programs that choose ports themselves, such as the pod runner.
RANDOM_PORT_COUNT: Final = 400
WORKER_DIR: Final = pytest.StashKey[Path]()


def start_run(checkout: Path) -> RunDirectory:
    """Create the folder of a run, and mark all processes that start later."""
    folder = new_run_directory(checkout)
    temporary = folder.path / "tmp"
    temporary.mkdir(mode=0o711)
    os.environ[RUN_VARIABLE] = str(folder.path)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    return folder


def tune_go_programs() -> None:
    """Limit every Go program of the run to one thread, and to few garbage collections.

    With two threads an API server spends a fifth of its CPU on waking the other. Its heap is small
    and doubles often: collections take a sixth of the CPU of a run. GOMAXPROCS and GOGC in the
    environment override both.
    """
    os.environ.setdefault("GOMAXPROCS", "1")
    os.environ.setdefault("GOGC", "400")


def schedule_as_batch() -> None:
    """Let the kernel run this process, and all that it starts, as batch work.

    A process that gets a message then does not interrupt the sender. A run has half as many context
    switches, and needs about 8 % less CPU. Does nothing on other systems than Linux.
    """
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def start_worker(name: str) -> tuple[Path, PortBlock]:
    """Create the folder of a process that runs tests, and reserve a block of ports for it."""
    folder = Path(os.environ[RUN_VARIABLE]) / name
    folder.mkdir(mode=0o711)
    block = take_block()
    random_ports = range(block.first + BLOCK_SIZE - RANDOM_PORT_COUNT, block.first + BLOCK_SIZE)
    start_counter(folder / "ports", range(block.first + 1, random_ports[0]))
    os.environ[local_ports.PORT_RANGE_VARIABLE] = f"{random_ports[0]}-{random_ports[-1]}"
    return folder, block


@contextmanager
def single_process_run(checkout: Path) -> Iterator[Path]:
    """Run in this process only, for the length of the block; yield the folder of its worker."""
    run = start_run(checkout)
    try:
        folder, block = start_worker("alone")
        yield folder
        block.close()
    finally:
        run.close()
