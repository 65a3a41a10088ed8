"""The use cases of the API, put together on one way to reach Kubernetes."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.dashboard.broadcaster import DashboardBroadcaster
from apiserver.dashboard.collector import SnapshotCollector
from apiserver.kube.port import KubeClient
from apiserver.kube.resources import FUNCTIONS, GPU_STORAGES, STOCK_POOLS
from apiserver.operations.create_object import ObjectCreator
from apiserver.operations.idempotency import IdempotentRunner
from apiserver.operations.metrics import OperationMetrics
from apiserver.operations.resume import OperationResumer, ResumableWork
from apiserver.operations.retry import Retry
from apiserver.operations.service import JobService
from apiserver.operations.store import OperationStore
from apiserver.operations.task_registry import KeyedTasks
from apiserver.specs.catalogue import Catalogue
from apiserver.specs.service import SpecService
from apiserver.stock_pools.service import PoolService
from apiserver.stock_units.create import StockUnitCreator
from apiserver.stock_units.seed import StockSeeder
from apiserver.stock_units.service import StockService
from apiserver.storages.service import StorageService
from apiserver.units.create import UnitCreator
from apiserver.units.service import UnitService
from apiserver.units.stock_claims import StockClaims
from apiserver.units.stock_selection import StockSelector
from apiserver.units.storage_locks import StorageLocks
from apiserver.units.store import UnitStore


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """What the use cases are told about the world."""

    stock_namespace: str
    instance_namespace: str
    system_namespace: str
    catalogue: Catalogue
    create_timeout_seconds: float
    record_retention_seconds: float = 72 * 3600.0


class KubeServices:
    """Everything that handlers call, and the work that goes on behind them."""

    def __init__(
        self,
        objects: KubeClient,
        settings: ServiceSettings,
        registry: CollectorRegistry,
        clock: Clock,
        random: Random,
        make_id: Callable[[], str],
    ) -> None:
        patience = Retry(clock, random)
        records = OperationStore(objects, settings.system_namespace, patience, clock, make_id)
        choice = StockSelector(objects, settings.stock_namespace, patience, clock, random)
        claims = StockClaims(objects, settings.stock_namespace, patience, clock)
        active = UnitStore(objects, settings.instance_namespace, patience)
        locks = StorageLocks(objects, settings.instance_namespace, patience)
        creation = UnitCreator(active, records, choice, locks, claims, clock)
        seeding = StockSeeder(
            StockUnitCreator(objects, settings.stock_namespace, patience, clock), records, clock
        )
        self.operation_tasks = KeyedTasks()
        metrics, seconds = OperationMetrics(registry), settings.create_timeout_seconds
        requests = IdempotentRunner(records, self.operation_tasks, metrics, clock, seconds)
        pools = ObjectCreator(
            objects, STOCK_POOLS, settings.stock_namespace, records, requests, patience
        )
        storages = ObjectCreator(
            objects, GPU_STORAGES, settings.instance_namespace, records, requests, patience
        )
        self.function_creation = ObjectCreator(
            objects, FUNCTIONS, settings.instance_namespace, records, requests, patience
        )
        catalogue = settings.catalogue
        self.units = UnitService(
            objects, settings.instance_namespace, creation, locks, requests, clock
        )
        self.stock = StockService(
            objects, settings.stock_namespace, catalogue, records, seeding, requests
        )
        self.pools = PoolService(objects, settings.stock_namespace, catalogue, pools)
        self.storages = StorageService(objects, settings.instance_namespace, storages, make_id)
        self.specs = SpecService(objects, settings.stock_namespace, catalogue)
        self.jobs = JobService(objects, settings.system_namespace, records)
        lookout = SnapshotCollector(
            objects,
            settings.stock_namespace,
            settings.instance_namespace,
            settings.system_namespace,
        )
        self.dashboard = DashboardBroadcaster(lookout, clock)
        resumable = ResumableWork(creation, self.stock, pools, storages, self.function_creation)
        self.resumption = OperationResumer(
            objects, settings.system_namespace, requests, resumable, clock, random
        )
