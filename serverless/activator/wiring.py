"""Builds the parts of an activator process from its configuration."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import aiohttp

from controller.runtime import (
    Cache,
    ExponentialBackoff,
    Manager,
    ManagerOptions,
    ObjectKey,
    election_from_config,
)
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
from shared.config.version import product_version
from shared.invocation.streams import stream_configs
from shared.k8s.server_version import check_server_version
from shared.v1alpha1.function import Function

PROGRAM_NAME: Final = "gpu-runtime-activator"
# The cause of a failure may end without a watch event, for example when the API is back.
MIN_RETRY_SECONDS: Final = 0.005
MAX_RETRY_SECONDS: Final = 30.0


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


def manager_options(config: Config) -> ManagerOptions:
    """Return the options of the manager.

    Raises ConfigurationError or ElectionSettingsError for invalid values.
    """
    return ManagerOptions(
        version=product_version(),
        namespaces=[config.namespaces.instance],
        new_rate_limiter=lambda _: ExponentialBackoff(MIN_RETRY_SECONDS, MAX_RETRY_SECONDS),
        leader_election=election_from_config(config.leader_election),
        probe_address=host_port(config.probe_addr),
        metrics_address=host_port(config.metrics_addr),
        metrics_tls=metrics_ssl_context(config.metrics_tls, config.probe_addr, config.metrics_addr),
        check_version=check_server_version,
    )


class ActivatorWiring:
    """Declares the parts of an activator: connections to NATS, authentication, and the leader."""

    def __init__(
        self,
        manager: Manager,
        session: aiohttp.ClientSession,
        config: Config,
        secrets: AuthSecrets,
    ) -> None:
        self._manager = manager
        self._session = session
        self._config = config
        self._secrets = secrets

    def declare(self) -> None:
        """Declare all parts; none is started."""
        manager, config = self._manager, self._config
        functions = manager.cache(FUNCTIONS)
        units = manager.cache(GPU_UNITS, indexers={FUNCTION_INDEX: function_names})
        connection = self._connect()
        worker_reports = WorkerReports(connection, config.nats.names, manager.clock)
        metrics = FunctionMetrics(manager.registry)
        leader = LeaderWiring(
            manager,
            config,
            session=self._session,
            jetstream=self._leader_jetstream(connection),
            functions=functions,
            units=units,
            worker_reports=worker_reports,
            worker_key=self._secrets.worker_key,
            metrics=metrics,
        )
        leader.declare()
        collector = FunctionCollector(
            leader.queue_depths, leader.sweep, metrics, manager.is_leader, manager.clock
        )
        manager.registry.register(collector)
        manager.add(worker_reports)
        manager.add(self._auth_callout(functions))

    def _connect(self) -> QueueConnection:
        """Return the connection to NATS; work waits for it and for the streams."""
        nats, clock = self._config.nats, self._manager.clock
        connection = QueueConnection(credentials_from_config(nats), PROGRAM_NAME, clock)
        configs = stream_configs(nats.names, nats.limits)
        self._manager.add_required(connection)
        self._manager.add_required(StreamSetup(connection, configs, clock))
        return connection

    def _leader_jetstream(self, connection: QueueConnection) -> JetStreamClient:
        return JetStreamClient(connection, self._manager.fence)

    def _auth_callout(self, functions: Cache[Function]) -> AuthCallout:
        nats, clock = self._config.nats, self._manager.clock
        credentials = credentials_from_config(callout_connection_config(self._config))
        connection = QueueConnection(credentials, f"{PROGRAM_NAME}-callout", clock)
        self._manager.add_required(connection)
        policy = CalloutPolicy(
            self._secrets.worker_key,
            nats.worker_account,
            nats.names,
            known_worker_check(functions, self._config.namespaces.instance),
        )
        return AuthCallout(connection, policy, self._secrets.signer, clock)


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
    """Return the address as host and port."""
    return address.host, address.port
