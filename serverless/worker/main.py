"""The worker process: settings, signals and exit code."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from serverless.nats.credentials import (
    CredentialsSource,
    NATSCredentials,
    credentials_from_directory,
)
from serverless.nats.requests import JetStreamClient
from serverless.worker import command_line, settings
from serverless.worker.clock import SystemClock
from serverless.worker.command_line import CommandLine
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.framework.client import FrameworkEndpoint, open_framework_client
from serverless.worker.http import CannotListenError, WorkerServer
from serverless.worker.intervals import Intervals
from serverless.worker.local import environment, run_once
from serverless.worker.nats_connection import worker_connection
from serverless.worker.settings import WorkerSettings
from serverless.worker.worker import Worker
from shared.config import logfmt
from shared.config.exitcode import ExitCode
from shared.config.loader import ConfigurationError
from shared.config.version import product_version

# A part of the pod's grace period, which is 30 s longer than one run. The rest is for releasing.
STOP_MARGIN_SECONDS: Final = 15.0

EXPECTED_ERRORS: Final = (CannotListenError, environment.LocalError)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run until a signal arrives; return the exit code."""
    options = command_line.parse(arguments)
    logfmt.configure_logging("info", sys.stderr)
    try:
        return asyncio.run(_run_command(options))
    except ConfigurationError as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except EXPECTED_ERRORS as error:
        log.error("failed", extra={"error": str(error)})  # noqa: TRY400 - no bug
        return ExitCode.FAILURE
    except KeyboardInterrupt:  # the second Ctrl-C; the first one stops a worker cleanly
        return ExitCode.INTERRUPTED
    except Exception:
        log.exception("crashed")
        return ExitCode.FAILURE


async def _run_command(arguments: CommandLine) -> ExitCode:
    if arguments.local is None:
        return await run(settings.from_environment(os.environ))
    with TemporaryDirectory(prefix="gpu-runtime-") as folder:
        endpoint = FrameworkEndpoint(f"{folder}/framework.sock")
        async with environment.run_framework(
            arguments.local, endpoint, must_stay_up=arguments.once is not None
        ):
            if arguments.once:
                return await run_once.run_once(
                    endpoint, arguments.request_id, arguments.once.read_bytes()
                )
            await environment.prepare_queue(arguments.nats_url, arguments.request_id)
            return await _run_worker(
                environment.local_settings(arguments, endpoint),
                lambda: NATSCredentials(arguments.nats_url),
            )


async def run(worker_settings: WorkerSettings) -> ExitCode:
    """Run a worker of a pod until a signal arrives."""
    source = credentials_from_directory(worker_settings.credentials_directory)
    try:
        source()
    except OSError as error:
        raise ConfigurationError(f"GPU_RUNTIME_QUEUE_SECRET: {error}") from error
    return await _run_worker(worker_settings, source)


async def _run_worker(
    worker_settings: WorkerSettings, credentials_source: CredentialsSource
) -> ExitCode:
    registry, stop = CollectorRegistry(), _stop_event()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    credentials, names, intervals = credentials_source(), worker_settings.queue_names, Intervals()
    identity = WorkerIdentity(
        worker_settings.function_name, worker_settings.worker, credentials.function_uid
    )
    connection = worker_connection(credentials_source, intervals, SystemClock())
    async with open_framework_client(worker_settings.framework) as framework:
        worker = Worker(
            identity,
            worker_settings.concurrency,
            connection=connection,
            jetstream=JetStreamClient(connection),
            queue_names=names,
            inbox_prefix=credentials.inbox_prefix,
            framework=framework,
            registry=registry,
            clock=SystemClock(),
            intervals=intervals,
        )
        http = WorkerServer(registry, worker.not_ready, worker.drain)
        async with http.serving(worker_settings.http_addr), worker.running():
            log.info(
                "started",
                extra={"function": identity.function_name, "version": product_version()},
            )
            await stop.wait()
            await worker.stop(worker_settings.timeout_seconds + STOP_MARGIN_SECONDS)
    log.info("stopped")
    return ExitCode.CLEAN


def _stop_event() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
