"""The process that fills the Secret of the NATS users and exits."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry

from controller.runtime import Client, KubeconfigError, KubeError, ObjectKey, SystemClock
from controller.runtime.client.connect import open_client
from serverless.credentials.config import Config
from serverless.credentials.secret import SECRET_NAME, SECRETS, RandomBytes, missing_values
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.loader import ConfigurationError

FIELD_MANAGER: Final = "gpu-runtime-credentials"
PROGRAM: Final = command_line.ProgramDescription(
    name="serverless.credentials",
    description="Creates the missing passwords of the NATS users, and exits.",
    config_type=Config,
    flag_keys=("kubeconfig", "namespace", "logLevel"),
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Add the missing values; return the exit code."""
    options = command_line.parse_command_line(PROGRAM, arguments)
    try:
        config = loader.load_config(Config, options.config_path, options.overrides)
        logfmt.configure_logging(config.log_level, sys.stderr)
        asyncio.run(run(config))
    except (ConfigurationError, KubeconfigError) as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except KubeError as error:
        log.error("failed", extra={"error": str(error)})  # noqa: TRY400 - no bug
        return ExitCode.FAILURE
    return ExitCode.CLEAN


async def run(config: Config) -> None:
    registry, clock = CollectorRegistry(), SystemClock()
    async with open_client(config.kubeconfig, FIELD_MANAGER, registry, clock) as client:
        added = await fill_secret(client, ObjectKey(config.namespace, SECRET_NAME), os.urandom)
    log.info("filled", extra={"keys": ",".join(added) or "none"})


async def fill_secret(client: Client, key: ObjectKey, random_bytes: RandomBytes) -> list[str]:
    """Add the missing values, return their keys; raises ConflictError after a concurrent write."""
    secret = await client.get(SECRETS, key)
    added = missing_values(secret.data, random_bytes)
    if added:
        metadata = {"resourceVersion": secret.metadata.resource_version}
        await client.patch(SECRETS, key, {"metadata": metadata, "data": added})
    return sorted(added)
