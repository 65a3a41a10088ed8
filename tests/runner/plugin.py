"""The pytest plugin of a run: a part in the main process, and a part in each worker.

Without workers both are in the same process.
"""

import gc
import signal
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from shared.config.gc_tuning import tune_gc
from tests.runner.failure_logs import LogRecorder, new_log_dir
from tests.runner.file_order import sort_by_start
from tests.runner.ports import PortBlock
from tests.runner.progress import Progress
from tests.runner.run_directory import RunDirectory, end_processes, require_run_mark
from tests.runner.run_environment import (
    WORKER_DIR,
    schedule_as_batch,
    start_run,
    start_worker,
    tune_go_programs,
)
from tests.runner.seeds import SEED_VARIABLE, choose_seed

LOGS_SECTION = "logs"
LOG_DIR_OPTION = "log_folder"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--keep",
        action="store_true",
        help="wait at a failed test until Enter or Ctrl-C; its cluster keeps running",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is None:
        if config.option.keep and config.option.numprocesses:
            raise pytest.UsageError(
                "--keep waits for input at a failure and needs a single process: remove -n"
            )
        seed = choose_seed()
        run = start_run(config.rootpath)
        tune_go_programs()
        schedule_as_batch()
        began = time.strftime("%Y%m%d-%H%M%S")
        logs = new_log_dir(config.rootpath, f"{began}-{run.path.name}")
        config.option.basetemp = run.path / "t"
        config.pluginmanager.register(RunPlugin(config, run, logs, seed))
        if config.option.numprocesses:
            return
        name = "main"
    else:
        logs, name = Path(worker_input[LOG_DIR_OPTION]), worker_input["workerid"]
    folder, ports = start_worker(name)
    config.stash[WORKER_DIR] = folder
    config.pluginmanager.register(WorkerPlugin(config, folder, ports, logs))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = sort_by_start(items)


class RunPlugin:
    """The part of the main process: it shows the progress, and ends all processes of the run."""

    def __init__(self, config: pytest.Config, run: RunDirectory, logs: Path, seed: str) -> None:
        self._plugins = config.pluginmanager
        self._run = run
        self._logs = logs
        self._seed = seed
        self._progress = Progress()
        self._has_expected_tests = False
        self._is_brief = config.option.verbose == 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, raise_interrupt)

    def pytest_report_header(self) -> str:
        return f"seed of drawn schedules: {SEED_VARIABLE}={self._seed}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[LOG_DIR_OPTION] = str(self._logs)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._expect(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.nodeid for item in session.items])

    def _expect(self, nodeids: list[str]) -> None:
        if not self._has_expected_tests and nodeids:
            self._has_expected_tests = True
            self._progress.expect_tests(nodeids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, str] | None:
        """Count a test and print nothing: its file has a line, and a failure has its own."""
        if not self._is_brief or hasattr(report, "wasxfail"):
            return None
        if report.failed:
            return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")
        return (report.outcome if report.skipped or report.when == "call" else "", "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._progress.record_report(report)
        if report.failed:
            saved = dict(report.sections).get(LOGS_SECTION, "were not saved")
            self._print(f"FAILED {report.nodeid} ({report.when}), logs: {saved}", red=True)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if line := self._progress.finish_test(nodeid):
            self._print(line)

    @property
    def _terminal(self) -> pytest.TerminalReporter:
        reporter: pytest.TerminalReporter = self._plugins.getplugin("terminalreporter")
        return reporter

    def _print(self, line: str, **markup: bool) -> None:
        if self._is_brief:
            self._terminal.write_line(line, **markup)
            self._terminal.flush()

    def pytest_keyboard_interrupt(self) -> None:
        """End workers and servers at once: their results are no longer read."""
        end_processes(self._run.path)

    def pytest_sessionstart(self) -> None:
        self._terminal.showfspath = False

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave processes
        self._run.close()


class WorkerPlugin:
    """The part of a worker: it saves the logs of failed tests, and waits at them with --keep."""

    def __init__(self, config: pytest.Config, folder: Path, ports: PortBlock, logs: Path) -> None:
        self._config = config
        self._folder = folder
        self._ports = ports
        self._logs = LogRecorder((folder, Path(config.option.basetemp)), logs)
        sys.addaudithook(require_run_mark)
        gc.disable()  # until all tests are collected: until then there is almost no garbage

    def pytest_collection_finish(self) -> None:
        """Exempt the collected tests from garbage collection: they stay until the end."""
        tune_gc()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._logs.start_test()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed:
            saved = self._logs.save_failure(report).relative_to(self._config.rootpath)
            report.sections.append((LOGS_SECTION, str(saved)))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector) -> None:
        if self._config.option.keep and isinstance(node, pytest.Item):
            wait_for_enter(self._config, self._folder)

    def pytest_unconfigure(self) -> None:
        self._ports.close()


def raise_interrupt(_number: int, _frame: FrameType | None) -> None:
    """End the run as Ctrl-C does."""
    raise KeyboardInterrupt


def wait_for_enter(config: pytest.Config, folder: Path) -> None:
    """Print the folder of the cluster, and wait for Enter; without a terminal, for Ctrl-C."""
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.suspend_global_capture(in_=True)
    sys.stderr.write(
        f"\nfolder of the test process: {folder}\n"
        f"  export KUBECONFIG={folder / 'cluster' / 'kubeconfigs' / 'admin'}\n"
        "Press Enter to continue.\n"
    )
    if not sys.stdin.readline():
        threading.Event().wait()
    capture.resume_global_capture()
