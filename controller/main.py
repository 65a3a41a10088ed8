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
    clock, registry, code = SystemClock(), CollectorRegistry(), ExitCode.CLEAN
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    agent = f"gpu-runtime-controller/{version()}"
    async with connected(config.kubeconfig, agent, registry, clock) as client:
        manager = build(config, client, registry, clock)
        log.info("listening", extra={"probes": config.probe_addr.url})
        try:
            await manager.run(stop_event())
        except* NoClusterError as failures:
            log.error("no_cluster", extra={"error": str(failures.exceptions[0])})
            code = ExitCode.FAILURE
        except* (LeadershipLostError, StopTimeoutError) as failures:
            log.error("stopped_unclean", extra={"error": str(failures.exceptions[0])})
            code = ExitCode.FAILURE
    log.info("stopped", extra={"exitCode": int(code)})
    return code


def build(
    config: Config, client: Client, registry: CollectorRegistry, clock: SystemClock
) -> Manager:
    """The parts of the process, none of them started."""
    identity, randomness = f"{socket.gethostname()}_{uuid.uuid4()}", Random()  # noqa: S311
    recorder = EventRecorder(client, clock, randomness, PROGRAM.name, identity)
    connection = Connection(client.rest, clock)
    probes = Probes(registry, connection.not_ready)
    election = config.leader_election
    if not election.enabled:
        log.warning("no_leader_election", extra={"risk": "two controllers would both work"})
    return Manager(
        Parts(
            probes=probes.serving(pair(config.probe_addr), pair(config.metrics_addr)),
            caches=[connection],
            background=[recorder],
            elector=elector(...) if election.enabled else None,
            loops=[],
        ),
        clock,
    )


def stop_event() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def pair(address: Address) -> tuple[str, int]:
    return address.host, address.port
