"""Tests of failure logs: each failure has a folder with the process output of its test."""

from pathlib import Path

import pytest

from tests.runner.failure_logs import MAX_KEPT_RUNS, LogRecorder, log_dir_name, new_log_dir

NODEID = "tests/kube/test_a.py::test_b[a case/x]"


def failed_report(nodeid: str = NODEID) -> pytest.TestReport:
    sections = [("Captured log call", "something_happened")]
    return pytest.TestReport(nodeid, ("", 0, ""), {}, "failed", "it was 2, not 3", "call", sections)


def test_only_output_since_the_start_of_the_test_is_saved(tmp_path: Path) -> None:
    logs = tmp_path / "gw0" / "cluster" / "logs"
    logs.mkdir(parents=True)
    (logs / "etcd.log").write_text("before\n")
    (logs / "kwok.log").write_text("before\n")
    recorder = LogRecorder((tmp_path / "gw0", tmp_path / "t"), tmp_path / "saved")
    recorder.start_test()
    with (logs / "etcd.log").open("a") as log:
        log.write("meanwhile\n")
    (logs / "new.log").write_text("new\n")

    folder = recorder.save_failure(failed_report())

    texts = {path.name: path.read_text() for path in folder.iterdir()}
    report = texts.pop("call.txt")
    assert texts == {"cluster-logs-etcd.log": "meanwhile\n", "cluster-logs-new.log": "new\n"}
    assert all(part in report for part in (NODEID, "it was 2, not 3", "something_happened"))


def test_the_folder_name_of_a_test_has_no_special_characters_and_is_short() -> None:
    assert log_dir_name(NODEID) == "kube-test_a.py-test_b-a-case-x"
    assert log_dir_name(f"tests/a.py::test[{'../' * 100}]") == "a.py-test-.." + "-.." * 36


def test_the_logs_of_old_runs_are_removed(tmp_path: Path) -> None:
    for number in range(9):
        (new_log_dir(tmp_path, f"run-{number}")).mkdir(parents=True)
    remaining = sorted(path.name for path in (tmp_path / ".test-logs").iterdir())
    assert remaining == [f"run-{number}" for number in range(9 - MAX_KEPT_RUNS, 9)]
