"""The output of a run: a line for each finished file, and failures at once."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

OUTCOMES = ("failed", "error", "passed", "skipped")


@dataclass
class FileProgress:
    """The results of the tests of one file so far."""

    tests: int = 0
    done: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)


class Progress:
    """The number of finished tests of each file; a file is finished with its last test."""

    def __init__(self) -> None:
        self._files: defaultdict[str, FileProgress] = defaultdict(FileProgress)
        self._total = 0
        self._done = 0

    def expect_tests(self, nodeids: Iterable[str]) -> None:
        """Count the tests that will run."""
        for nodeid in nodeids:
            self._files[test_file(nodeid)].tests += 1
            self._total += 1

    def record_report(self, report: pytest.TestReport) -> None:
        """Count the result of a test's setup, call or teardown."""
        file = self._files[test_file(report.nodeid)]
        file.seconds += report.duration
        if report.failed:
            file.outcomes["error" if report.when != "call" else "failed"] += 1
        elif report.skipped or report.when == "call":
            file.outcomes[report.outcome] += 1

    def finish_test(self, nodeid: str) -> str | None:
        """Count a finished test; returns the line of its file if it was the last, else None."""
        file = self._files[test_file(nodeid)]
        file.done += 1
        self._done += 1
        return self.file_line(test_file(nodeid)) if file.done == file.tests else None

    def file_line(self, path: str) -> str:
        """Return the results of a file as a line."""
        file = self._files[path]
        share = 100 * self._done // max(self._total, 1)
        counts = ", ".join(
            f"{file.outcomes[outcome]} {outcome}" for outcome in OUTCOMES if file.outcomes[outcome]
        )
        return f"[{share:3d}%] {path}  {counts}  {file.seconds:.1f} s"


def test_file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
