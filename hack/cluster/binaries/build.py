"""The builder of the control plane's programs from Go modules into the cache, with its progress."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from hack.cluster.binaries.cache import cached_path
from hack.cluster.binaries.catalogue import Program
from hack.cluster.binaries.go_toolchain import find_go
from hack.cluster.binaries.versions import TOOLS_DIR
from hack.cluster.errors import ClusterError

PROGRESS_INTERVAL_SECONDS = 10.0


def build_programs(programs: Sequence[Program]) -> None:
    """Build `programs` one after the other; the caller holds the cache lock."""
    if not programs:
        return
    go = find_go()
    print(f"building {len(programs)} programs with {go}: about 7 minutes on two cores, once")
    for number, program in enumerate(programs, 1):
        build_program(go, program, f"[{number}/{len(programs)}] {program.name} {program.version}")


def build_program(go: Path, program: Program, title: str) -> None:
    """Build beside the final path and rename, so that the cache has no incomplete program."""
    final = cached_path(program)
    final.parent.mkdir(parents=True, exist_ok=True)
    unfinished = final.with_name(f"{final.name}.unfinished")
    try:
        run_go(go, program, unfinished, title)
        unfinished.replace(final)
    finally:
        unfinished.unlink(missing_ok=True)


def run_go(go: Path, program: Program, output: Path, title: str) -> None:
    flags = ["-v", "-trimpath", "-ldflags", program.link_flags, "-o", str(output)]
    with subprocess.Popen(
        [str(go), "build", *flags, program.package],
        cwd=TOOLS_DIR / program.product,
        env=go_environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            tail = BuildProgress(title).follow(process)
        finally:
            process.send_signal(signal.SIGINT)  # go then waits for its compilers
    if process.returncode != 0:
        raise ClusterError(f"{title}: the build failed\n" + "\n".join(tail))


def go_environment() -> dict[str, str]:
    """Return the user's environment without the variables that change the build."""
    dropped = ("GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT")
    unchanged = {key: value for key, value in os.environ.items() if key not in dropped}
    return unchanged | {"CGO_ENABLED": "0", "GOWORK": "off", "GOTOOLCHAIN": "local"}


class BuildProgress:
    """The progress of a build, counted and printed from `go build -v`; one line on a terminal."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._downloaded = self._compiled = 0
        self._terminal = sys.stdout.isatty()
        self._finished = threading.Event()

    def follow(self, process: "subprocess.Popen[str]") -> Sequence[str]:
        """Read the output of the build to its end; return its last lines for an error message."""
        tail: deque[str] = deque(maxlen=20)
        ticker = threading.Thread(target=self._print_periodically, daemon=True)
        ticker.start()
        try:
            for line in process.stderr or ():
                tail.append(line.rstrip())
                self._count(line)
        finally:
            self._finished.set()
            ticker.join()
        process.wait()
        print(f"{self._line_start()}{self._text()}", flush=True)
        return tail

    def _count(self, line: str) -> None:
        if line.startswith("go: downloading"):
            self._downloaded += 1
        else:
            self._compiled += 1

    def _print_periodically(self) -> None:
        while not self._finished.wait(1.0 if self._terminal else PROGRESS_INTERVAL_SECONDS):
            end = "" if self._terminal else "\n"
            print(f"{self._line_start()}{self._text()}", end=end, flush=True)

    def _line_start(self) -> str:
        return "\r\x1b[K" if self._terminal else ""

    def _text(self) -> str:
        seconds = time.monotonic() - self._started
        fetched = f"{self._downloaded} modules fetched, " if self._downloaded else ""
        return f"  {self._title}: {fetched}{self._compiled} packages compiled, {seconds:.0f} s"
