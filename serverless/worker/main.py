"""The process of a worker: its settings, its signals and its exit code."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from serverless.nats import credentials
from serverless.nats.credentials import Access, AccessSource
from serverless.worker import command_line, settings
from serverless.worker.clock import SystemClock
from serverless.worker.command_line import CommandLine
from serverless.worker.consume.decision import Identity
from serverless.worker.framework.client import FrameworkPlace, framework_at
from serverless.worker.http import CannotListenError, WorkerHTTP
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.local import environment, run_once
from serverless.worker.settings import Settings
from serverless.worker.worker import Surroundings, Worker
from shared.config import logfmt
from shared.config.exitcode import ExitCode
from shared.config.loader import ConfigurationError
from shared.config.version import version

# Of the pod's grace period, which is 30 s longer than one run; the rest is for releasing.
SPARE_SECONDS: Final = 15.0

EXPECTED: Final = (CannotListenError, environment.LocalError)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run until a signal says to stop."""
    given = command_line.parse(arguments)
    logfmt.configure("info", sys.stderr)
    try:
        return asyncio.run(_chosen(given))
    except ConfigurationError as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except EXPECTED as error:
        log.error("failed", extra={"error": str(error)})  # noqa: TRY400 - no bug
        return ExitCode.FAILURE
    except KeyboardInterrupt:  # a person has waited long enough; a worker at work stops cleanly
        return ExitCode.INTERRUPTED
    except Exception:
        log.exception("crashed")
        return ExitCode.FAILURE


async def _chosen(given: CommandLine) -> ExitCode:
    if given.local is None:
        return await run(settings.from_environment(os.environ))
    with TemporaryDirectory(prefix="gpu-runtime-") as folder:
        place = FrameworkPlace(f"{folder}/framework.sock")
        async with environment.framework(given.local, place, must_last=given.once is not None):
            if given.once:
                return await run_once.run(place, given.request_id, given.once.read_bytes())
            await environment.prepare(given.nats_url, given.request_id)
            return await _work(environment.settings(given, place), lambda: Access(given.nats_url))


async def run(told: Settings) -> ExitCode:
    """Work as the environment says until a signal comes."""
    source = credentials.from_folder(told.queue_secret)
    try:
        source()
    except OSError as error:
        raise ConfigurationError(f"GPU_RUNTIME_QUEUE_SECRET: {error}") from error
    return await _work(told, source)


async def _work(told: Settings, source: AccessSource) -> ExitCode:
    registry, stop = CollectorRegistry(), _stop_event()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    me = Identity(told.request_id, told.worker, source().function_uid)
    async with framework_at(told.framework) as framework:
        around = Surroundings(Queue(told.names), source, framework, registry, SystemClock(), Pace())
        worker = Worker(around, me, told.concurrency)
        http = WorkerHTTP(registry, worker.not_ready, worker.drained)
        async with http.serving(told.http_addr), worker.working():
            log.info("started", extra={"requestID": me.request_id, "version": version()})
            await stop.wait()
            await worker.stop(told.timeout_seconds + SPARE_SECONDS)
    log.info("stopped")
    return ExitCode.CLEAN


def _stop_event() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
