"""The result store process: command line, signals and exit code."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry

from controller.runtime import (
    CannotListenError,
    Clock,
    SystemClock,
    first_error,
    install_stop_signals,
    new_registry,
)
from controller.runtime.process.lifecycle import running
from controller.runtime.process.probes import ProbeServer
from serverless.nats.config import read_secret_file
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import credentials_from_config
from serverless.resultstore.config import Config
from serverless.resultstore.consumer import OutcomeConsumer
from serverless.resultstore.metrics import OutcomeMetrics
from serverless.resultstore.retention import Retention
from serverless.resultstore.store import OutcomeStore
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import metrics_ssl_context
from shared.config.version import product_version

PROGRAM_NAME: Final = "gpu-runtime-result-store"
PROGRAM: Final = command_line.ProgramDescription(
    name="serverless.resultstore",
    description="Stores the outcomes of invocations in PostgreSQL.",
    config_type=Config,
    flag_keys=("probeAddr", "metricsAddr", "logLevel"),
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run until a signal arrives; return the exit code."""
    options = command_line.parse_command_line(PROGRAM, arguments)
    try:
        config = loader.load_config(Config, options.config_path, options.overrides)
        logfmt.configure_logging(config.log_level, sys.stderr)
        read_secret_file(config.dsn_file, "dsnFile")
        return asyncio.run(run(config))
    except* ConfigurationError as errors:
        sys.stderr.write(f"bad configuration:\n{first_error(errors)}\n")
        code = ExitCode.BAD_CONFIGURATION
    except* CannotListenError as errors:
        log.error("failed", extra={"error": str(first_error(errors))})  # noqa: TRY400 - no bug
        code = ExitCode.FAILURE
    except* Exception:
        log.exception("crashed")
        code = ExitCode.FAILURE
    return code


@asynccontextmanager
async def serving(
    config: Config, registry: CollectorRegistry, clock: Clock
) -> AsyncIterator[OutcomeStore]:
    """Run a result store for the length of the block."""
    connection = QueueConnection(credentials_from_config(config.nats), PROGRAM_NAME, clock)
    store = OutcomeStore(config.dsn_file, clock)
    consumer = OutcomeConsumer(
        connection, config.nats.names, store, OutcomeMetrics(registry), clock
    )
    retention = Retention(store, config.retention.seconds, clock)
    probes = ProbeServer(registry, lambda: [*connection.not_ready(), *store.not_ready()])
    tls = metrics_ssl_context(config.metrics_tls, config.probe_addr, config.metrics_addr)
    addresses = [
        (address.host, address.port) for address in (config.probe_addr, config.metrics_addr)
    ]
    async with (
        probes.serve(addresses[0], addresses[1], tls),
        running([connection, store, consumer, retention]),
    ):
        yield store


async def run(config: Config) -> ExitCode:
    """Store outcomes until a signal; unacknowledged ones are redelivered to another replica."""
    stop, registry = install_stop_signals(), new_registry()
    async with serving(config, registry, SystemClock()):
        log.info("starting", extra={"probes": config.probe_addr.url, "version": product_version()})
        await stop.wait()
    log.info("stopped", extra={"exitCode": int(ExitCode.CLEAN)})
    return ExitCode.CLEAN
