"""The logs of a failed test: its report, and the output of processes during the test."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest

LOG_DIR: Final = ".test-logs"
MAX_KEPT_RUNS: Final = 5
MAX_NAME_LENGTH: Final = 120


def new_log_dir(checkout: Path, run: str) -> Path:
    """Return the folder for the failures of a run, and remove those of old runs."""
    root = checkout / LOG_DIR
    if root.is_dir():
        oldest_first = sorted(filter(Path.is_dir, root.iterdir()), key=lambda path: path.name)
        for old_run in oldest_first[: -(MAX_KEPT_RUNS - 1)]:
            shutil.rmtree(old_run, ignore_errors=True)
    return root / run


class LogRecorder:
    """A recorder of what processes log during a test, by the log sizes at its start."""

    def __init__(self, sources: Iterable[Path], target: Path) -> None:
        self._sources = tuple(sources)
        self._target = target
        self._sizes: Mapping[Path, int] = {}

    def start_test(self) -> None:
        """Remember the sizes of all logs."""
        self._sizes = {path: path.stat().st_size for path in self._log_files()}

    def save_failure(self, report: pytest.TestReport) -> Path:
        """Write the report of a failed test, and the process logs since its start."""
        folder = self._target / log_dir_name(report.nodeid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{report.when}.txt").write_text(report_text(report))
        for path in self._log_files():
            with path.open("rb") as log:
                log.seek(self._sizes.get(path, 0))
                if written := log.read():
                    (folder / self._name(path)).write_bytes(written)
        return folder

    def _log_files(self) -> list[Path]:
        """List every log; `os.walk` is twice as fast as `rglob`, and it runs for every test."""
        paths = (
            Path(folder) / name
            for source in self._sources
            for folder, _, names in os.walk(source)
            for name in names
            if name.endswith(".log")
        )
        return [path for path in paths if path.is_file()]

    def _name(self, log: Path) -> str:
        source = next(folder for folder in self._sources if log.is_relative_to(folder))
        return re.sub(r"[^\w.-]+", "-", str(log.relative_to(source)))[-MAX_NAME_LENGTH:]


def log_dir_name(nodeid: str) -> str:
    """Return the name of a test's folder."""
    return re.sub(r"[^\w.-]+", "-", nodeid.removeprefix("tests/"))[:MAX_NAME_LENGTH].strip("-")


def report_text(report: pytest.TestReport) -> str:
    """Return the failure and all captured output."""
    sections = (f"----- {title} -----\n{content}" for title, content in report.sections)
    return "\n".join((report.nodeid, report.longreprtext, *sections, ""))
