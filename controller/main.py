"""The composition root of the controller: the only place that names concrete classes."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from controller.config import Config
from controller.connection import Connection, NoClusterError
from controller.runtime import access
from controller.runtime.clock import SystemClock
from controller.runtime.credentials import Credentials
from controller.runtime.errors import AccessError, CannotListenError
from controller.runtime.metrics import RestMetrics
from controller.runtime.probes import Probes
from controller.runtime.rest import RestClient, new_session
from shared import command_line, configuration, logfmt
from shared.address import Address
from shared.configuration import ConfigurationError
from shared.exitcode import ExitCode
from shared.version import version

PROGRAM: Final = command_line.Program(
    name="controller",
    purpose="Makes the cluster match the custom resources of GPU Runtime.",
    config=Config,
    overridable=("kubeconfig", "probeAddr", "metricsAddr", "logLevel"),
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run the controller until it is told to stop."""
    given = command_line.parse(PROGRAM, arguments)
    try:
        config = configuration.load(Config, given.config, given.overrides)
        logfmt.configure(config.log_level, sys.stderr)
        return asyncio.run(run(config))
    except (ConfigurationError, AccessError) as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except CannotListenError as error:
        log.error("cannot_listen", extra={"error": str(error)})  # noqa: TRY400 - not a bug of ours
        return ExitCode.FAILURE
    except Exception:
        log.exception("crashed")
        return ExitCode.FAILURE


async def run(config: Config) -> ExitCode:
    """Build everything that `config` asks for, and run it until a signal or a failure."""
    clock, registry = SystemClock(), CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    load = access.source(config.kubeconfig, os.environ, Path.home())
    credentials = Credentials(load, await load(), clock)
    async with new_session(f"gpu-runtime-controller/{version()}") as session:
        client = RestClient(session, credentials, RestMetrics(registry), clock)
        connection = Connection(client, clock)
        probes = Probes(registry, connection.not_ready)
        async with probes.serving(pair(config.probe_addr), pair(config.metrics_addr)):
            log.info("listening", extra={"probes": config.probe_addr.url})
            code = await until_stopped(connection)
    log.info("stopped", extra={"exitCode": int(code)})
    return code


async def until_stopped(connection: Connection) -> ExitCode:
    """Work until SIGTERM or SIGINT, or until there is no cluster to work on."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work(connection), name="connection")
        stopping = group.create_task(stop.wait(), name="stop")
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        code = working.result() if working.done() else ExitCode.CLEAN
        log.info("stopping", extra={"exitCode": int(code)})
        working.cancel()
        stopping.cancel()
    return code


async def work(connection: Connection) -> ExitCode:
    try:
        await connection.run()
    except NoClusterError as error:
        log.error("no_cluster", extra={"error": str(error)})  # noqa: TRY400 - not a bug of ours
    return ExitCode.FAILURE


def pair(address: Address) -> tuple[str, int]:
    return address.host, address.port
