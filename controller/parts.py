"""The parts of a controller process, put together from its configuration."""

import logging
import socket
import uuid
from ipaddress import ip_network
from random import Random

from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.config import (
    Config,
    LeaderElectionConfig,
    NamespacesConfig,
    StorageConfig,
    UnitsConfig,
)
from controller.connection import Connection
from controller.gpustorage import setup as gpustorage
from controller.gpustorage.settings import StorageSettings
from controller.gpuunit import setup as gpuunit
from controller.gpuunit.census import Census
from controller.gpuunit.settings import UnitSettings
from controller.loops import Loops
from controller.namespaces import Namespaces
from controller.operation import setup as operation
from controller.operation.reconciler import OperationReconciler
from controller.operation.stalls import Stalls
from controller.runtime.client import Client
from controller.runtime.clock import Clock
from controller.runtime.control_loop import ControlLoop
from controller.runtime.election import ElectionSettings, ElectionSettingsError
from controller.runtime.event_series import Reference
from controller.runtime.events import EventRecorder
from controller.runtime.informer_metrics import InformerMetrics
from controller.runtime.key import ObjectKey
from controller.runtime.leader import Callbacks, LeaderElector
from controller.runtime.leader_metrics import LeaderMetrics
from controller.runtime.lease import LEASES, LeaseLock
from controller.runtime.manager import Cache, Manager, Parts
from controller.runtime.probes import Probes
from controller.runtime.writer import Writer
from controller.stockpool import setup as stockpool
from controller.stockpool.reconciler import StockPoolReconciler
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
        elector = self._elector(config.leader_election)
        where = namespaces(config.namespaces)
        metrics = InformerMetrics(self._registry)
        caches = Caches(self._client, where, metrics, self._clock, self._randomness)
        needed: list[Cache] = [connection, *caches.informers]
        probes = Probes(
            self._registry, lambda: [why for each in needed for why in each.not_ready()]
        )
        parts = Parts(
            probes=probes.serving(pair(config.probe_addr), pair(config.metrics_addr)),
            caches=needed,
            background=[self._recorder],
            elector=elector,
            loops=self._loops(config, caches, where, elector),
        )
        is_leader = elector.is_leader if elector else lambda: True
        self._registry.register(Census(caches.units, where, is_leader))
        self._registry.register(Stalls(caches.operations, self._clock, is_leader))
        return Manager(parts, self._clock)

    def _loops(
        self, config: Config, caches: Caches, where: Namespaces, elector: LeaderElector | None
    ) -> list[ControlLoop]:
        fence = elector.fence if elector else lambda: None
        writer = Writer(self._client, caches.informers, fence)
        loops = Loops(self._registry, self._clock, self._randomness)
        recorder, clock = self._recorder, self._clock
        settings = unit_settings(config.units, where)
        units = gpuunit.reconciler(caches, self._client, writer, recorder, settings, clock)
        lent = storage_settings(config.storage, settings)
        storages = gpustorage.reconciler(caches, self._client, writer, recorder, lent, clock)
        pools = StockPoolReconciler(caches, self._client, writer, recorder, clock)
        records = OperationReconciler(caches, writer, clock, config.operation_retention.seconds)
        return [
            gpuunit.control_loop(units, caches, recorder, where, loops, config.units.workers),
            gpustorage.control_loop(
                storages, caches, recorder, where, loops, config.storage.workers
            ),
            stockpool.control_loop(pools, caches, where, loops),
            operation.control_loop(records, caches, loops),
        ]

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


def namespaces(config: NamespacesConfig) -> Namespaces:
    """The three namespaces, which must be three."""
    given = (config.stock, config.instance, config.system)
    if len(set(given)) < len(given):
        raise ConfigurationError(f"namespaces: must differ from each other, got {', '.join(given)}")
    return Namespaces(*given)


def unit_settings(config: UnitsConfig, where: Namespaces) -> UnitSettings:
    """What all units share; a range that is none is refused here and not by the API server."""
    for index, text in enumerate(config.private_ranges):
        try:
            ip_network(text)
        except ValueError as error:
            raise ConfigurationError(f"units.privateRanges[{index}]: {error}") from error
    return UnitSettings(where, config.pause_image, config.cluster_domain, config.private_ranges)


def storage_settings(config: StorageConfig, units: UnitSettings) -> StorageSettings:
    """What all storages share; their pods are in the same cluster as the units."""
    deadline = config.prepare_deadline.seconds
    if deadline != int(deadline):
        raise ConfigurationError("storage.prepareDeadline: must be whole seconds")
    return StorageSettings(
        units.namespaces,
        config.default_class,
        int(deadline),
        config.copy_image,
        config.accessor_image,
        units.cluster_domain,
        units.private_ranges,
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
