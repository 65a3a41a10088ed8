"""Controller process: command line, signals and exit code."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import Final

from controller.config import Config
from controller.runtime.client.connect import open_client
from controller.runtime.client.connection_monitor import ClusterUnavailableError
from controller.runtime.clock import SystemClock
from controller.runtime.errors import CannotListenError, KubeconfigError
from controller.runtime.leader.rules import ElectionSettingsError, LeadershipLostError
from controller.runtime.process.lifecycle import StopTimeoutError
from controller.runtime.process.process import first_error, install_stop_signals, new_registry
from controller.wiring import CONTROLLER_NAME, ManagerBuilder
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.gc_tuning import tune_gc
from shared.config.loader import ConfigurationError
from shared.config.version import product_version

PROGRAM: Final = command_line.ProgramDescription(
    name="controller",
    description="Makes the cluster match the custom resources of GPU Runtime.",
    config_type=Config,
    flag_keys=("kubeconfig", "probeAddr", "metricsAddr", "logLevel"),
)

EXPECTED_ERRORS: Final = (
    CannotListenError,
    LeadershipLostError,
    ClusterUnavailableError,
    StopTimeoutError,
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run the controller until it receives a stop signal; return the exit code."""
    given = command_line.parse_command_line(PROGRAM, arguments)
    try:
        config = loader.load_config(Config, given.config_path, given.overrides)
        logfmt.configure_logging(config.log_level, sys.stderr)
        tune_gc()
        return asyncio.run(run(config))
    except (ConfigurationError, ElectionSettingsError, KubeconfigError) as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except Exception:
        log.exception("crashed")
        return ExitCode.FAILURE


async def run(config: Config) -> ExitCode:
    """Build the process of `config`, and run it until a signal or a failure."""
    clock, registry, code = SystemClock(), new_registry(), ExitCode.CLEAN
    async with open_client(
        config.kubeconfig, f"{CONTROLLER_NAME}/{product_version()}", registry, clock
    ) as client:
        manager = ManagerBuilder(client, registry, clock).build(config)
        log.info("starting", extra={"probes": config.probe_addr.url, "version": product_version()})
        try:
            await manager.run(install_stop_signals())
        except* EXPECTED_ERRORS as failures:
            log.error("failed", extra={"error": str(first_error(failures))})  # noqa: TRY400 - no bug
            code = ExitCode.FAILURE
    log.info("stopped", extra={"exitCode": int(code)})
    return code
