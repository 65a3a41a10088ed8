"""The composition root: it picks the adapters, builds the services and runs the process."""

import asyncio
import logging
import os
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
)

from apiserver.app import AppComponents, create_app
from apiserver.circuit_breaker import CircuitBreaker
from apiserver.clock import SystemClock
from apiserver.config import Config, RequestLimits, SpecConfig
from apiserver.health.cluster_state import KUBERNETES_OFF, ClusterState
from apiserver.health.handlers import HEALTH, READINESS
from apiserver.health.monitor import ClusterMonitor
from apiserver.health.readiness import Readiness
from apiserver.health.schemas import HealthSchema
from apiserver.health.service import HealthService
from apiserver.health.startup import monitor_cluster
from apiserver.health.status_log import StatusReporter
from apiserver.health.unit_counts import UnitCounter
from apiserver.http.access_log import AccessLog
from apiserver.http.deadline import RequestTimeLimits
from apiserver.http.keys import ProvidedService
from apiserver.http.protocol import FallbackResponder
from apiserver.http.server import HEAD_TIMEOUT_SECONDS, CannotListenError, serve
from apiserver.http.tokens import TokenFile
from apiserver.kube import kubeconfig
from apiserver.kube.client import NoCluster, RestKubeClient
from apiserver.kube.credentials import Credentials
from apiserver.kube.metrics import RestMetrics
from apiserver.kube.port import KubeClient
from apiserver.kube.rest import RestClient, create_session
from apiserver.nats.connection import require_readable_password
from apiserver.nats.jetstream import JetStream
from apiserver.postgres.archive import PostgresArchive, read_dsn
from apiserver.process import Process, TaskFactory
from apiserver.specs.catalogue import Catalogue, CatalogueEntry
from apiserver.wiring import KubeServices, ServerlessServices, ServiceSettings
from shared.clock import Clock
from shared.config import command_line, loader, logfmt
from shared.config.exitcode import ExitCode
from shared.config.gc_tuning import tune_gc
from shared.config.loader import ConfigurationError
from shared.config.version import product_version
from shared.v1alpha1.unit_resources import UnitResources
from shared.v1alpha1.validation.resources import resource_problems

CLUSTER_WAIT_SECONDS: Final = 30.0
# Seconds kept for writing the response after waiting for an unfinished operation.
RESPONSE_RESERVE_SECONDS: Final = 3.0
PROGRAM: Final = command_line.ProgramDescription(
    name="apiserver",
    description="Serves the REST API of GPU Runtime.",
    config_type=Config,
    flag_keys=("httpAddr", "kubeMode", "kubeconfig", "reportInterval", "logLevel"),
)

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> ExitCode:
    """Run the API until it is stopped, and return its exit code."""
    options = command_line.parse_command_line(PROGRAM, arguments)
    try:
        config = loader.load_config(Config, options.config_path, options.overrides)
        logfmt.configure_logging(config.log_level, sys.stderr)
        tune_gc()
        return asyncio.run(run(config))
    except ConfigurationError as error:
        sys.stderr.write(f"bad configuration:\n{error}\n")
        return ExitCode.BAD_CONFIGURATION
    except CannotListenError as error:
        log.error("cannot_listen", extra={"error": str(error)})  # noqa: TRY400 - no bug
        return ExitCode.FAILURE
    except Exception:
        log.exception("crashed")
        return ExitCode.FAILURE


async def run(config: Config) -> ExitCode:
    """Build the process that `config` describes, and run it."""
    clock, registry = SystemClock(), CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    require_readable_password(config.nats)
    token_file = open_token_file(config, clock)
    jetstream = JetStream(config.nats, clock, new_id)
    archive = create_archive(config, clock)
    async with connect_cluster(config, registry, clock) as client:
        monitor = create_monitor(config, client, clock) if client else None

        def cluster_state() -> ClusterState:
            return monitor.state if monitor else KUBERNETES_OFF

        health = HealthService(
            product_version(), clock, cluster_state, lambda: jetstream.connection.status
        )
        readiness, access_log = Readiness(cluster_state), AccessLog(registry)
        services: list[ProvidedService[Any]] = [
            ProvidedService(HEALTH, health),
            ProvidedService(READINESS, readiness),
        ]
        tasks = background_tasks(config, clock, health, monitor, jetstream)
        if client:
            settings = service_settings(config)
            randomness = Random()  # noqa: S311 - spreads retries and choices, keeps no secret
            kube = KubeServices(client, settings, registry, clock, randomness, new_id)
            serverless = ServerlessServices(
                client,
                jetstream.ports,
                settings,
                kube.function_creator,
                registry,
                clock,
                new_id,
                archive,
            )
            services += [*kube.provided, *serverless.provided]
            tasks |= kube.background_tasks
        optional = (("archive", archive), ("tokens", token_file))
        tasks |= {name: component.run for name, component in optional if component}
        app = create_app(
            AppComponents(
                version=product_version(),
                services=services,
                registry=registry,
                access_log=access_log,
                make_id=new_id,
                clock=clock,
                request_limits=RequestLimits(
                    config.namespaces, config.max_seed_replicas, config.max_in_flight_bytes
                ),
                time_limits=RequestTimeLimits(config.request_timeout.seconds),
                tokens=(lambda: token_file.tokens) if token_file else None,
            )
        )
        process = Process(readiness, tasks)
        process.stop_on_signals()
        fallback = FallbackResponder(access_log, new_id, HEAD_TIMEOUT_SECONDS)
        return await process.run(serve(app, config.http_addr, fallback))


def create_monitor(config: Config, client: KubeClient, clock: Clock) -> ClusterMonitor:
    """Build the monitor of the cluster, which counts nodes and units."""
    namespaces = config.namespaces
    counter = UnitCounter(client, namespaces.stock, namespaces.instance)
    return ClusterMonitor(client, counter, clock)


def open_token_file(config: Config, clock: Clock) -> TokenFile | None:
    """Return the file of accepted tokens, or None if anonymous callers are accepted."""
    if config.auth.tokens_file:
        return TokenFile(config.auth.tokens_file, clock)
    if not config.http_addr.is_loopback and not config.auth.allow_anonymous:
        raise ConfigurationError(
            f"httpAddr: other machines can call {config.http_addr}, and no token is required; "
            "set auth.tokensFile to a file of tokens, listen on 127.0.0.1, or set "
            "auth.allowAnonymous: true if a proxy authenticates the callers"
        )
    return None


def create_archive(config: Config, clock: Clock) -> PostgresArchive | None:
    """Return the result store, or None without one; ConfigurationError for a bad address."""
    path = config.result_store.dsn_file
    return PostgresArchive(path, clock) if path and read_dsn(path) else None


def service_settings(config: Config) -> ServiceSettings:
    """Return the settings of the services; raise ConfigurationError for an invalid catalogue."""
    entries = {name: catalogue_entry(name, spec) for name, spec in config.specs.items()}
    problems = [
        f"specs.{name}: {problem.text.removeprefix('spec.')}"
        for name, entry in entries.items()
        for problem in resource_problems(entry.resources)
    ]
    if problems:
        raise ConfigurationError(*problems)
    namespaces = config.namespaces
    return ServiceSettings(
        namespaces.stock,
        namespaces.instance,
        namespaces.system,
        Catalogue(entries),
        max(1.0, config.request_timeout.seconds - RESPONSE_RESERVE_SECONDS),
        config.nats.limits.record_retention.seconds,
    )


def catalogue_entry(name: str, spec: SpecConfig) -> CatalogueEntry:
    """Return the entry of a configured spec."""
    resources = UnitResources(
        spec_name=name,
        cpu=spec.cpu,
        memory=spec.memory,
        gpu=spec.gpu,
        gpu_resource=spec.gpu_resource,
        node_selector=spec.node_selector,
        tolerations=spec.tolerations,
        shm_size=spec.shm_size,
    )
    return CatalogueEntry(resources, spec.description)


def background_tasks(
    config: Config,
    clock: Clock,
    health: HealthService,
    monitor: ClusterMonitor | None,
    jetstream: JetStream,
) -> dict[str, TaskFactory]:
    """Return the tasks that run beside the server, by name."""
    reporter = StatusReporter(health, HealthSchema().dump, clock, config.report_interval.seconds)
    timeout_seconds = CLUSTER_WAIT_SECONDS if config.kube_mode == "required" else None
    tasks: dict[str, TaskFactory] = {"report": reporter.run}
    if monitor:
        tasks = {"observe": lambda: monitor_cluster(monitor, reporter, clock, timeout_seconds)}
    if config.nats.url:
        tasks["queue connection"] = jetstream.connection.run
        tasks["stream setup"] = jetstream.stream_setup.run
        tasks["record changes"] = jetstream.record_changes.run
    return tasks


@asynccontextmanager
async def connect_cluster(
    config: Config, registry: CollectorRegistry, clock: Clock
) -> AsyncIterator[KubeClient | None]:
    """Yield the client of the configured cluster, or None if Kubernetes is off."""
    metrics = RestMetrics(registry)
    if config.kube_mode == "off":
        yield None
        return
    try:
        load = kubeconfig.config_loader(config.kubeconfig, os.environ, Path.home())
        rest_config = await load()
    except ConfigurationError as error:
        if config.kube_mode == "required" or config.kubeconfig:
            raise
        yield RestKubeClient(NoCluster(str(error)))
        return
    async with create_session(product_version()) as session:
        credentials, breaker = Credentials(load, rest_config, clock), CircuitBreaker(clock)
        yield RestKubeClient(RestClient(session, credentials, metrics, clock, breaker))


def new_id() -> str:
    """Return a random id."""
    return uuid.uuid4().hex
