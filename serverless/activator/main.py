"""The process of the activator: its command line, its signals and its exit code."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import Final

import aiohttp

from controller.runtime.client.connect import connected
from controller.runtime.client.connection_monitor import NoClusterError
from controller.runtime.clock import SystemClock
from controller.runtime.errors import AccessError, CannotListenError
from controller.runtime.leader.rules import ElectionSettingsError, LeadershipLostError
from controller.runtime.process.manager import StopTimeoutError
from controller.runtime.process.process import first, new_registry, stop_event
from serverless.activator.config import Config
from serverless.activator.wiring import NAME, Assembly, keys
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.gc_tuning import look_seldom
from shared.config.loader import ConfigurationError
from shared.config.version import version

PROGRAM: Final = command_line.Program(
    name="serverless.activator",
    purpose="Gives each function as many workers as its queue needs.",
    config=Config,
    overridable=("kubeconfig", "probeAddr", "metricsAddr", "logLevel"),
)
EXPECTED: Final = (CannotListenError, LeadershipLostError, NoClusterError, StopTimeoutError)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run the activator until it is told to stop."""
    given = command_line.parse(PROGRAM, arguments)
    try:
        config = loader.load(Config, given.config, given.overrides)
        logfmt.configure(config.log_level, sys.stderr)
        look_seldom()
        return asyncio.run(run(config))
    except (ConfigurationError, ElectionSettingsError, AccessError) as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except Exception:
        log.exception("crashed")
        return ExitCode.FAILURE


async def run(config: Config) -> ExitCode:
    """Build everything that `config` asks for, and run it until a signal or a failure."""
    clock, registry, code, secrets = SystemClock(), new_registry(), ExitCode.CLEAN, keys(config)
    async with (
        connected(config.kubeconfig, f"{NAME}/{version()}", registry, clock) as client,
        aiohttp.ClientSession() as session,
    ):
        manager = Assembly(client, session, registry, clock).manager(config, secrets)
        log.info("starting", extra={"probes": config.probe_addr.url, "version": version()})
        try:
            await manager.run(stop_event())
        except* EXPECTED as failures:
            log.error("failed", extra={"error": str(first(failures))})  # noqa: TRY400 - no bug
            code = ExitCode.FAILURE
    log.info("stopped", extra={"exitCode": int(code)})
    return code
