"""The parts of a controller process, put together from its configuration."""

import logging
import socket
import uuid
from random import Random

from prometheus_client import CollectorRegistry

from controller.config import Config, LeaderElectionConfig
from controller.connection import Connection
from controller.runtime.client import Client
from controller.runtime.clock import Clock
from controller.runtime.election import ElectionSettings, ElectionSettingsError
from controller.runtime.event_series import Reference
from controller.runtime.events import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.leader import Callbacks, LeaderElector
from controller.runtime.leader_metrics import LeaderMetrics
from controller.runtime.lease import LEASES, LeaseLock
from controller.runtime.manager import Manager, Parts
from controller.runtime.probes import Probes
from shared.address import Address
from shared.configuration import ConfigurationError

NAME = "gpu-runtime-controller"

log = logging.getLogger(__name__)


class Assembly:
    """What the parts have in common while they are made."""

    def __init__(self, client: Client, registry: CollectorRegistry, clock: Clock) -> None:
        self._client = client
        self._registry = registry
        self._clock = clock
        self._randomness = Random()  # noqa: S311 - spreads retries, keeps no secret
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._recorder = EventRecorder(client, clock, self._randomness, NAME, self._identity[-128:])

    def manager(self, config: Config) -> Manager:
        """Everything that `config` asks for, not yet started."""
        connection = Connection(self._client.rest, self._clock)
        probes = Probes(self._registry, connection.not_ready)
        parts = Parts(
            probes=probes.serving(pair(config.probe_addr), pair(config.metrics_addr)),
            caches=[connection],
            background=[self._recorder],
            elector=self._elector(config.leader_election),
            loops=[],
        )
        return Manager(parts, self._clock)

    def _elector(self, config: LeaderElectionConfig) -> LeaderElector | None:
        if not config.enabled:
            log.warning("no_leader_election", extra={"risk": "a second controller would work too"})
            return None
        lock = LeaseLock(self._client, ObjectKey(config.namespace, config.name), self._identity)
        callbacks = Callbacks(
            report=lambda said: self._recorder.normal(about(config), "LeaderElection", said),
            on_new_leader=lambda holder: log.info("new_leader", extra={"holder": holder}),
        )
        return LeaderElector(
            lock,
            settings(config),
            self._clock,
            self._randomness,
            LeaderMetrics(self._registry),
            callbacks,
        )


def settings(config: LeaderElectionConfig) -> ElectionSettings:
    """The durations of the election, checked against each other."""
    lease = config.lease_duration.seconds
    if lease != int(lease):
        raise ConfigurationError("leaderElection.leaseDuration: must be whole seconds")
    try:
        return ElectionSettings(
            config.name, int(lease), config.renew_deadline.seconds, config.retry_period.seconds
        )
    except ElectionSettingsError as error:
        raise ConfigurationError(f"leaderElection: {error}") from error


def about(config: LeaderElectionConfig) -> Reference:
    return Reference(LEASES.api_version, LEASES.name, config.namespace, config.name, uid="")


def pair(address: Address) -> tuple[str, int]:
    return address.host, address.port
