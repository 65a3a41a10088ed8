"""Construction of a controller process from its configuration."""

import socket
import uuid
from ipaddress import ip_network
from random import Random

from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.config import (
    Config,
    NamespacesConfig,
    SidecarConfig,
    StorageConfig,
)
from controller.gpustorage import setup as gpustorage
from controller.gpustorage.settings import StorageSettings
from controller.gpuunit import setup as gpuunit
from controller.gpuunit.metrics import UnitCountCollector
from controller.gpuunit.settings import QueuePeer, SidecarSettings, UnitSettings
from controller.namespaces import Namespaces
from controller.object_reader import ObjectReader
from controller.operation import setup as operation
from controller.operation.metrics import StalledOperationsCollector
from controller.operation.reconciler import OperationReconciler
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.client.connection_monitor import ConnectionMonitor
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.leader import factory
from controller.runtime.leader.elector import LeaderElector
from controller.runtime.leader.factory import ElectorDependencies
from controller.runtime.loop.control_loop import ControlLoop
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.process.lifecycle import Lifecycle, LifecycleComponents, SyncedRunnable
from controller.runtime.process.probes import ProbeServer
from controller.stockpool import setup as stockpool
from controller.stockpool.reconciler import StockPoolReconciler
from shared.config.address import Address
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import metrics_ssl_context
from shared.invocation.queue_names import QueueNames
from shared.k8s import server_version
from shared.k8s.quantity import ACCEPTED_FORMAT, Quantity

CONTROLLER_NAME = "gpu-runtime-controller"


class ManagerBuilder:
    """Builder of the manager, with what all controllers share."""

    def __init__(self, client: Client, registry: CollectorRegistry, clock: Clock) -> None:
        self._client = client
        self._registry = registry
        self._clock = clock
        self._rng = Random()  # noqa: S311 - spreads retries, keeps no secret
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._recorder = EventRecorder(
            client, clock, self._rng, CONTROLLER_NAME, self._identity[-128:]
        )

    def build(self, config: Config) -> Lifecycle:
        """Build all components of `config`; none is started."""
        connection = ConnectionMonitor(
            self._client.rest, self._clock, server_version.check_server_version
        )
        elector = factory.new_elector(config.leader_election, self._elector_dependencies())
        where = validated_namespaces(config.namespaces)
        metrics = InformerMetrics(self._registry)
        caches = Caches(self._client, where, metrics, self._clock, self._rng)
        needed: list[SyncedRunnable] = [connection, *caches.informers]
        tls = metrics_ssl_context(config.metrics_tls, config.probe_addr, config.metrics_addr)
        probes = ProbeServer(
            self._registry, lambda: [why for each in needed for why in each.not_ready()]
        )
        parts = LifecycleComponents(
            probes=probes.serve(
                host_and_port(config.probe_addr), host_and_port(config.metrics_addr), tls
            ),
            caches=needed,
            runnables=[self._recorder],
            elector=elector,
            loops=self._control_loops(config, caches, where, elector),
        )
        is_leader = elector.is_leader if elector else lambda: True
        self._registry.register(UnitCountCollector(caches.units, where, is_leader))
        self._registry.register(
            StalledOperationsCollector(caches.operations, self._clock, is_leader)
        )
        return Lifecycle(parts, self._clock)

    def _elector_dependencies(self) -> ElectorDependencies:
        return ElectorDependencies(
            self._client,
            self._recorder,
            self._registry,
            self._clock,
            self._rng,
            self._identity,
        )

    def _control_loops(
        self, config: Config, caches: Caches, namespaces: Namespaces, elector: LeaderElector | None
    ) -> list[ControlLoop]:
        fence = elector.fence if elector else lambda: None
        writer = Writer(self._client, caches.informers, fence)
        loops = LoopFactory(self._registry, self._clock, self._rng)
        recorder, clock = self._recorder, self._clock
        settings = unit_settings(config, namespaces)
        units = gpuunit.create_reconciler(caches, self._client, writer, recorder, settings, clock)
        lent = storage_settings(config.storage, settings)
        storages = gpustorage.create_reconciler(caches, self._client, writer, recorder, lent, clock)
        pools = StockPoolReconciler(caches, self._client, writer, recorder, clock)
        lookup, retention = (
            ObjectReader(caches, self._client, namespaces),
            config.operation_retention.seconds,
        )
        records = OperationReconciler(caches, lookup, writer, clock, retention)
        return [
            gpuunit.create_control_loop(
                units, caches, recorder, namespaces, loops, config.units.workers
            ),
            gpustorage.create_control_loop(
                storages, caches, recorder, namespaces, loops, config.storage.workers
            ),
            stockpool.create_control_loop(pools, caches, namespaces, loops),
            operation.create_control_loop(records, caches, loops),
        ]


def validated_namespaces(config: NamespacesConfig) -> Namespaces:
    """Return the three namespaces; raise ConfigurationError if two of them are equal."""
    given = (config.stock, config.instance, config.system)
    if len(set(given)) < len(given):
        raise ConfigurationError(f"namespaces: must differ from each other, got {', '.join(given)}")
    return Namespaces(*given)


def unit_settings(config: Config, namespaces: Namespaces) -> UnitSettings:
    """Return the settings of all units; raise ConfigurationError for an invalid range.

    Otherwise only the API server would reject the range.
    """
    units = config.units
    for index, text in enumerate(units.private_ranges):
        try:
            ip_network(text)
        except ValueError as error:
            raise ConfigurationError(f"units.privateRanges[{index}]: {error}") from error
    return UnitSettings(
        namespaces,
        units.pause_image,
        units.cluster_domain,
        units.private_ranges,
        sidecar_settings(config.sidecar, config.nats.names),
        QueuePeer(config.nats.namespace, config.nats.app_name, config.nats.port),
    )


def sidecar_settings(config: SidecarConfig, queue_names: QueueNames) -> SidecarSettings:
    """Return the settings of all workers; raise ConfigurationError for an invalid amount."""
    for name, text in (("cpu", config.cpu), ("memory", config.memory)):
        try:
            Quantity.parse(text)
        except ValueError as error:
            raise ConfigurationError(
                f"sidecar.{name}: {text!r} is not {ACCEPTED_FORMAT}"
            ) from error
    return SidecarSettings(config.image, config.cpu, config.memory, queue_names)


def storage_settings(config: StorageConfig, units: UnitSettings) -> StorageSettings:
    """Return the settings of all storages; their pods are in the same cluster as the units."""
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


def host_and_port(address: Address) -> tuple[str, int]:
    return address.host, address.port
