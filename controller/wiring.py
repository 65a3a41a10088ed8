"""Construction of a controller process from its configuration."""

from ipaddress import ip_network
from typing import Final

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
from controller.operation import setup as operation
from controller.operation.metrics import StalledOperationsCollector
from controller.runtime import ExponentialBackoff, Manager, ManagerOptions, election_from_config
from controller.stockpool import setup as stockpool
from shared.config.address import Address
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import metrics_ssl_context
from shared.config.version import product_version
from shared.invocation.queue_names import QueueNames
from shared.k8s.quantity import ACCEPTED_FORMAT, Quantity
from shared.k8s.server_version import check_server_version

PROGRAM_NAME: Final = "gpu-runtime-controller"
# The cause of a failure may end without a watch event, for example when a quota is raised.
MIN_RETRY_SECONDS: Final = 0.005
MAX_RETRY_SECONDS: Final = 30.0


def manager_options(config: Config) -> ManagerOptions:
    """Return the options of the manager.

    Raises ConfigurationError or ElectionSettingsError for invalid values.
    """
    return ManagerOptions(
        version=product_version(),
        new_rate_limiter=lambda _: ExponentialBackoff(MIN_RETRY_SECONDS, MAX_RETRY_SECONDS),
        leader_election=election_from_config(config.leader_election),
        probe_address=host_and_port(config.probe_addr),
        metrics_address=host_and_port(config.metrics_addr),
        metrics_tls=metrics_ssl_context(config.metrics_tls, config.probe_addr, config.metrics_addr),
        check_version=check_server_version,
    )


def declare_controllers(manager: Manager, config: Config) -> None:
    """Declare the controllers of all kinds, and the metrics about their objects."""
    namespaces = validated_namespaces(config.namespaces)
    caches = Caches(manager, namespaces)
    units = unit_settings(config, namespaces)
    storages = storage_settings(config.storage, units)
    retention_seconds = config.operation_retention.seconds
    gpuunit.setup_with_manager(manager, caches, units, config.units.workers)
    gpustorage.setup_with_manager(manager, caches, storages, config.storage.workers)
    stockpool.setup_with_manager(manager, caches, namespaces)
    operation.setup_with_manager(manager, caches, namespaces, retention_seconds)
    for collector in (
        UnitCountCollector(caches.units, namespaces, manager.is_leader),
        StalledOperationsCollector(caches.operations, manager.clock, manager.is_leader),
    ):
        manager.registry.register(collector)


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
