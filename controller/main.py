"""Controller process: command line, signals and exit code."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import Final

from controller.config import Config
from controller.runtime import (
    RUN_ERRORS,
    ElectionSettingsError,
    KubeconfigError,
    Manager,
    first_error,
    install_stop_signals,
)
from controller.wiring import PROGRAM_NAME, declare_controllers, manager_options
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.gc_tuning import tune_gc
from shared.config.loader import ConfigurationError
from shared.config.version import product_version

PROGRAM: Final = command_line.ProgramDescription(
    name="controller",
    description="Reconciles the custom resources of GPU Runtime with the cluster.",
    config_type=Config,
    flag_keys=("kubeconfig", "probeAddr", "metricsAddr", "logLevel"),
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run the controller until it receives a stop signal; return the exit code."""
    options = command_line.parse_command_line(PROGRAM, arguments)
    try:
        config = loader.load_config(Config, options.config_path, options.overrides)
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
    code, options = ExitCode.CLEAN, manager_options(config)
    async with Manager.open(PROGRAM_NAME, config.kubeconfig, options) as manager:
        declare_controllers(manager, config)
        log.info("starting", extra={"probes": config.probe_addr.url, "version": product_version()})
        try:
            await manager.run(install_stop_signals())
        except* RUN_ERRORS as failures:
            log.error("failed", extra={"error": str(first_error(failures))})  # noqa: TRY400 - no bug
            code = ExitCode.FAILURE
    log.info("stopped", extra={"exitCode": int(code)})
    return code
