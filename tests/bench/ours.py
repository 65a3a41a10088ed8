"""Our library's measuring program: takes the anchor's arguments and gives answers of its shape."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.contender import NOT_WRITTEN_YET, Contender
from tests.bench.reports import LatencyReport, SyncReport


async def our_sync(kubeconfig: Path, runs: int) -> SyncReport:
    """Fill an informer's store `runs` times; seconds each, and memory as the anchor counts it."""
    raise NotImplementedError("the informer is not written yet")


async def our_latency(kubeconfig: Path) -> LatencyReport:
    """Say "ready" on stderr once synced, then time stamps until SIGINT with one worker."""
    raise NotImplementedError("the control loop is not written yet")


async def our_queue(items: int) -> float:
    """Seconds for `items` times add, get and done on a work queue."""
    raise NotImplementedError("the work queue is not written yet")


def ours() -> Contender:
    """This file as a program, so that each measurement begins in a fresh process."""
    return Contender("ours", (sys.executable, "-m", "tests.bench.ours"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ours")
    parser.add_argument("what", choices=("sync", "latency"))
    parser.add_argument("-kubeconfig", type=Path, required=True)
    parser.add_argument("-resource")
    parser.add_argument("-runs", type=int, default=1)
    parser.add_argument("-seconds", type=float)
    told = parser.parse_args(arguments)
    measurements: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "sync": lambda: our_sync(told.kubeconfig, told.runs),
        "latency": lambda: our_latency(told.kubeconfig),
    }
    try:
        report = asyncio.run(measurements[told.what]())
    except NotImplementedError as error:
        sys.stderr.write(f"{error}\n")
        return NOT_WRITTEN_YET
    sys.stdout.buffer.write(msgspec.json.encode(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
