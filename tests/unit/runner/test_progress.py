"""Tests of the progress output: one line per file, written after the file's last test."""

from typing import Literal, get_args

import pytest

from tests.runner.progress import Progress

FIRST, SECOND = "tests/kube/test_a.py::test_one", "tests/kube/test_a.py::test_two[x::y]"
OTHER = "tests/unit/test_b.py::test_three"
Outcome = Literal["passed", "failed", "skipped"]
When = Literal["setup", "call", "teardown"]


@pytest.fixture
def progress() -> Progress:
    output = Progress()
    output.expect_tests([FIRST, SECOND, OTHER])
    return output


def report(nodeid: str, outcome: Outcome = "passed", when: When = "call") -> pytest.TestReport:
    return pytest.TestReport(
        nodeid,
        ("", 0, ""),
        {},
        outcome,
        None,
        when,
        duration=1.5,
    )


def test_the_line_of_a_file_is_written_after_its_last_test(progress: Progress) -> None:
    for nodeid in (FIRST, SECOND):
        for when in get_args(When):
            progress.record_report(report(nodeid, when=when))
    assert progress.finish_test(SECOND) is None
    assert progress.finish_test(FIRST) == "[ 66%] tests/kube/test_a.py  2 passed  9.0 s"


def test_failures_errors_and_skips_are_counted_separately(progress: Progress) -> None:
    progress.record_report(report(FIRST, "failed"))
    progress.record_report(report(FIRST, "failed", "teardown"))
    progress.record_report(report(SECOND, "skipped", "setup"))
    progress.finish_test(FIRST)
    line = progress.finish_test(SECOND)
    assert line == "[ 66%] tests/kube/test_a.py  1 failed, 1 error, 1 skipped  4.5 s"


def test_the_line_of_the_last_file_shows_100_percent(progress: Progress) -> None:
    lines = [progress.finish_test(nodeid) for nodeid in (FIRST, SECOND, OTHER)]
    assert str(lines[-1]).startswith("[100%] tests/unit/test_b.py")
