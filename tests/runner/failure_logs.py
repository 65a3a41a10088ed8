"""The logs of a failed test: what it reported, and what processes wrote while it ran."""

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
    """Where the failures of a run go, once there are any; removes those of older runs."""
    root = checkout / LOG_DIR
    if root.is_dir():
        oldest_first = sorted(filter(Path.is_dir, root.iterdir()), key=lambda each: each.name)
        for each in oldest_first[: -(MAX_KEPT_RUNS - 1)]:
            shutil.rmtree(each, ignore_errors=True)
    return root / run


class LogRecorder:
    """Knows how long each log was when the test began, so that only what it caused is saved."""

    def __init__(self, sources: Iterable[Path], target: Path) -> None:
        self._sources = tuple(sources)
        self._target = target
        self._sizes: Mapping[Path, int] = {}

    def start_test(self) -> None:
        """A test begins."""
        self._sizes = {path: path.stat().st_size for path in self._log_files()}

    def save_failure(self, report: pytest.TestReport) -> Path:
        """Write what the failed test reported and what processes logged since it began."""
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
        """List every log; `os.walk` is twice as fast as `rglob`, and every test pays for it."""
        found = (
            Path(folder) / name
            for source in self._sources
            for folder, _, names in os.walk(source)
            for name in names
            if name.endswith(".log")
        )
        return [path for path in found if path.is_file()]

    def _name(self, log: Path) -> str:
        source = next(each for each in self._sources if log.is_relative_to(each))
        return re.sub(r"[^\w.-]+", "-", str(log.relative_to(source)))[-MAX_NAME_LENGTH:]


def log_dir_name(nodeid: str) -> str:
    """The name of a test as that of a folder."""
    return re.sub(r"[^\w.-]+", "-", nodeid.removeprefix("tests/"))[:MAX_NAME_LENGTH].strip("-")


def report_text(report: pytest.TestReport) -> str:
    """The failure and everything that was captured."""
    sections = (f"----- {title} -----\n{content}" for title, content in report.sections)
    return "\n".join((report.nodeid, report.longreprtext, *sections, ""))
