"""Builds the parts of an activator process from its configuration."""

import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import aiohttp
from prometheus_client import CollectorRegistry

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.client.client import Client
from controller.runtime.client.connection_monitor import ConnectionMonitor
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.leader import factory
from controller.runtime.leader.elector import LeaderElector
from controller.runtime.leader.factory import ElectorDependencies
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.process.lifecycle import Lifecycle, LifecycleComponents
from controller.runtime.process.lifecycle import SyncedRunnable as Needed
from controller.runtime.process.probes import ProbeServer
from serverless.activator.auth.auth_callout import AuthCallout, CalloutPolicy
from serverless.activator.auth.jwt import TokenSigner
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.activator.config import Config
from serverless.activator.kinds import FUNCTIONS, GPU_UNITS
from serverless.activator.leader_wiring import LeaderWiring, function_names
from serverless.activator.metrics import FunctionCollector, FunctionMetrics
from serverless.activator.scaling.snapshot import FUNCTION_INDEX
from serverless.activator.sweep.stream_repair import StreamSetup
from serverless.activator.worker_reports import WorkerReports
from serverless.activator.workers.runtime_api import authorization_header
from serverless.nats.config import QueueConfig, read_secret_file
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import credentials_from_config
from serverless.nats.requests import JetStreamClient
from shared.config.address import Address
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import metrics_ssl_context
from shared.invocation.streams import stream_configs
from shared.k8s import server_version
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

PROGRAM_NAME: Final = "gpu-runtime-activator"


@dataclass(frozen=True, slots=True)
class AuthSecrets:
    """The secrets with which the activator authenticates workers."""

    worker_key: bytes
    signer: TokenSigner


def load_auth_secrets(config: Config) -> AuthSecrets:
    """Read the secrets that `config` names; raises ConfigurationError."""
    seed = read_secret_file(config.callout_seed_file, "calloutSeedFile")
    key = read_secret_file(config.worker_key_file, "workerKeyFile").encode()
    authorization_header(config.runtime_api_token_file)
    if not key:
        raise ConfigurationError("workerKeyFile: the file is empty")
    try:
        return AuthSecrets(key, TokenSigner(seed))
    except ValueError as error:
        raise ConfigurationError(f"calloutSeedFile: {error}") from error


class ManagerBuilder:
    """Builds the manager of an activator process."""

    def __init__(
        self,
        client: Client,
        session: aiohttp.ClientSession,
        registry: CollectorRegistry,
        clock: Clock,
    ) -> None:
        self._client = client
        self._session = session
        self._registry = registry
        self._clock = clock
        self._rng = Random()  # noqa: S311 - spreads retries, keeps no secret
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._recorder = EventRecorder(
            client, clock, self._rng, PROGRAM_NAME, self._identity[-128:]
        )

    def build(self, config: Config, secrets: AuthSecrets) -> Lifecycle:
        """Return everything that `config` asks for, not started yet."""
        clock, instance = self._clock, config.namespaces.instance
        functions, units = self._caches(instance)
        connection = QueueConnection(credentials_from_config(config.nats), PROGRAM_NAME, clock)
        callout_connection = QueueConnection(
            credentials_from_config(callout_connection_config(config)),
            f"{PROGRAM_NAME}-callout",
            clock,
        )
        configs = stream_configs(config.nats.names, config.nats.limits)
        needed: list[Needed] = [
            ConnectionMonitor(self._client.rest, clock, server_version.check_server_version),
            *functions.informers,
            *units.informers,
            connection,
            StreamSetup(connection, configs, clock),
            callout_connection,
        ]
        elector = factory.new_elector(config.leader_election, self._elector_dependencies())
        fence = elector.fence if elector else lambda: None
        worker_reports = WorkerReports(connection, config.nats.names, clock)
        metrics = FunctionMetrics(self._registry)
        leader = LeaderWiring(
            config,
            client=self._client,
            session=self._session,
            jetstream=self._leader_jetstream(connection, fence),
            recorder=self._recorder,
            functions=functions,
            units=units,
            worker_reports=worker_reports,
            worker_key=secrets.worker_key,
            fence=fence,
            loop_factory=LoopFactory(self._registry, clock, self._rng),
            metrics=metrics,
            clock=clock,
        )
        self._register_collector(leader, metrics, elector)
        policy = CalloutPolicy(
            secrets.worker_key,
            config.nats.worker_account,
            config.nats.names,
            known_worker_check(functions, instance),
        )
        tls = metrics_ssl_context(config.metrics_tls, config.probe_addr, config.metrics_addr)
        probes = ProbeServer(
            self._registry, lambda: [reason for part in needed for reason in part.not_ready()]
        )
        components = LifecycleComponents(
            probes=probes.serve(host_port(config.probe_addr), host_port(config.metrics_addr), tls),
            caches=needed,
            runnables=[
                self._recorder,
                worker_reports,
                AuthCallout(callout_connection, policy, secrets.signer, clock),
            ],
            elector=elector,
            loops=leader.build_loops(),
        )
        return Lifecycle(components, clock)

    def _leader_jetstream(
        self, connection: QueueConnection, fence: Callable[[], None]
    ) -> JetStreamClient:
        return JetStreamClient(connection, fence)

    def _register_collector(
        self, leader: LeaderWiring, metrics: FunctionMetrics, elector: LeaderElector | None
    ) -> None:
        is_leader = elector.is_leader if elector else lambda: True
        collector = FunctionCollector(
            leader.queue_depths, leader.sweep, metrics, is_leader, self._clock
        )
        self._registry.register(collector)

    def _caches(self, namespace: str) -> tuple[Cache[Function], Cache[GPUUnit]]:
        metrics = InformerMetrics(self._registry)
        functions = Informer(
            self._client, WatchScope(FUNCTIONS, namespace), metrics, self._clock, self._rng
        )
        units = Informer(
            self._client,
            WatchScope(GPU_UNITS, namespace),
            metrics,
            self._clock,
            self._rng,
            {FUNCTION_INDEX: function_names},
        )
        return Cache({namespace: functions}), Cache({namespace: units})

    def _elector_dependencies(self) -> ElectorDependencies:
        return ElectorDependencies(
            self._client,
            self._recorder,
            self._registry,
            self._clock,
            self._rng,
            self._identity,
        )


def callout_connection_config(config: Config) -> QueueConfig:
    """Return how the auth callout connects to NATS."""
    return QueueConfig(
        url=config.nats.url, user=config.callout_user, password_file=config.callout_password_file
    )


def known_worker_check(functions: Cache[Function], namespace: str) -> Callable[[WorkerUser], bool]:
    """Return a predicate: whether the function of a worker exists with that uid."""

    def is_known(user: WorkerUser) -> bool:
        function = functions.get(ObjectKey(namespace, user.function_name))
        return function is not None and function.metadata.uid == user.function_uid

    return is_known


def host_port(address: Address) -> tuple[str, int]:
    """Return the address as the probe server takes it."""
    return address.host, address.port
