"""The process of the result store: its command line, its signals and its exit code."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry

from controller.runtime.clock import Clock, SystemClock
from controller.runtime.errors import CannotListenError
from controller.runtime.process.manager import running
from controller.runtime.process.probes import Probes
from controller.runtime.process.process import first, new_registry, stop_event
from serverless.nats.config import secret_of
from serverless.nats.connection import QueueConnection
from serverless.resultstore.config import Config
from serverless.resultstore.consumer import Intake
from serverless.resultstore.metrics import IntakeMetrics
from serverless.resultstore.retention import Retention
from serverless.resultstore.store import Store
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import metrics_tls
from shared.config.version import version

NAME: Final = "gpu-runtime-result-store"
PROGRAM: Final = command_line.Program(
    name="serverless.resultstore",
    purpose="Keeps the outcomes of invocations in PostgreSQL.",
    config=Config,
    overridable=("probeAddr", "metricsAddr", "logLevel"),
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run the result store until it is told to stop."""
    given = command_line.parse(PROGRAM, arguments)
    try:
        config = loader.load(Config, given.config, given.overrides)
        logfmt.configure(config.log_level, sys.stderr)
        secret_of(config.dsn_file, "dsnFile")
        return asyncio.run(run(config))
    except* ConfigurationError as errors:
        sys.stderr.write(f"bad configuration:\n{first(errors)}\n")
        code = ExitCode.BAD_CONFIGURATION
    except* CannotListenError as errors:
        log.error("failed", extra={"error": str(first(errors))})  # noqa: TRY400 - no bug
        code = ExitCode.FAILURE
    except* Exception:
        log.exception("crashed")
        code = ExitCode.FAILURE
    return code


@asynccontextmanager
async def serving(
    config: Config, registry: CollectorRegistry, clock: Clock
) -> AsyncIterator[Store]:
    """A result store at work for the length of the block."""
    queue = QueueConnection(config.nats, NAME, clock)
    store = Store(config.dsn_file, clock)
    intake = Intake(queue, config.nats.names, store, IntakeMetrics(registry), clock)
    retention = Retention(store, config.retention.seconds, clock)
    probes = Probes(registry, lambda: [*queue.not_ready(), *store.not_ready()])
    tls = metrics_tls(config.metrics_tls, config.probe_addr, config.metrics_addr)
    places = [(each.host, each.port) for each in (config.probe_addr, config.metrics_addr)]
    async with (
        probes.serving(places[0], places[1], tls),
        running([queue, store, intake, retention]),
    ):
        yield store


async def run(config: Config) -> ExitCode:
    """Move outcomes until a signal; what is not acknowledged comes again elsewhere."""
    stop, registry = stop_event(), new_registry()
    async with serving(config, registry, SystemClock()):
        log.info("starting", extra={"probes": config.probe_addr.url, "version": version()})
        await stop.wait()
    log.info("stopped", extra={"exitCode": int(ExitCode.CLEAN)})
    return ExitCode.CLEAN
