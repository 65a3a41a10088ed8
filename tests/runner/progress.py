"""What a person sees of a run: a line for each file that is done, and failures at once."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

OUTCOMES = ("failed", "error", "passed", "skipped")


@dataclass
class FileProgress:
    """What became of the tests of one file so far."""

    tests: int = 0
    done: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)


class Progress:
    """Counts the tests of each file; a file is done with its last test."""

    def __init__(self) -> None:
        self._files: defaultdict[str, FileProgress] = defaultdict(FileProgress)
        self._total = 0
        self._done = 0

    def expect_tests(self, nodeids: Iterable[str]) -> None:
        """These tests will run."""
        for nodeid in nodeids:
            self._files[test_file(nodeid)].tests += 1
            self._total += 1

    def record_report(self, report: pytest.TestReport) -> None:
        """A step of a test is over."""
        found = self._files[test_file(report.nodeid)]
        found.seconds += report.duration
        if report.failed:
            found.outcomes["error" if report.when != "call" else "failed"] += 1
        elif report.skipped or report.when == "call":
            found.outcomes[report.outcome] += 1

    def finish_test(self, nodeid: str) -> str | None:
        """A test is over: the line of its file if it was the last one there, otherwise None."""
        found = self._files[test_file(nodeid)]
        found.done += 1
        self._done += 1
        return self.file_line(test_file(nodeid)) if found.done == found.tests else None

    def file_line(self, file: str) -> str:
        """What became of a file."""
        found = self._files[file]
        share = 100 * self._done // max(self._total, 1)
        counts = ", ".join(
            f"{found.outcomes[each]} {each}" for each in OUTCOMES if found.outcomes[each]
        )
        return f"[{share:3d}%] {file}  {counts}  {found.seconds:.1f} s"


def test_file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
