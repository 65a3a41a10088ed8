"""The use cases of the API, put together on one way to reach Kubernetes."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.dashboard.broadcaster import Feed
from apiserver.dashboard.collector import Lookout
from apiserver.kube.port import Cluster
from apiserver.kube.resources import FUNCTIONS, GPU_STORAGES, STOCK_POOLS
from apiserver.operations.create_object import ObjectCreation
from apiserver.operations.idempotency import Requests
from apiserver.operations.metrics import OperationMetrics
from apiserver.operations.resume import Resumable, Resumption
from apiserver.operations.retry import Patience
from apiserver.operations.service import JobService
from apiserver.operations.store import Records
from apiserver.operations.task_registry import Workshop
from apiserver.specs.catalogue import Catalogue
from apiserver.specs.service import SpecService
from apiserver.stock_pools.service import PoolService
from apiserver.stock_units.create import StockUnits
from apiserver.stock_units.seed import Seeding
from apiserver.stock_units.service import StockService
from apiserver.storages.service import StorageService
from apiserver.units.create import Creation
from apiserver.units.service import UnitService
from apiserver.units.stock_claims import Claims
from apiserver.units.stock_selection import StockChoice
from apiserver.units.storage_locks import MountLocks
from apiserver.units.store import ActiveUnits


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the use cases are told about the world."""

    stock: str
    instance: str
    system: str
    catalogue: Catalogue
    create_seconds: float
    record_seconds: float = 72 * 3600.0


class UseCases:
    """Everything that handlers call, and the work that goes on behind them."""

    def __init__(
        self,
        objects: Cluster,
        where: Surroundings,
        registry: CollectorRegistry,
        clock: Clock,
        randomness: Random,
        make_id: Callable[[], str],
    ) -> None:
        patience = Patience(clock, randomness)
        records = Records(objects, where.system, patience, clock, make_id)
        choice = StockChoice(objects, where.stock, patience, clock, randomness)
        claims = Claims(objects, where.stock, patience, clock)
        active = ActiveUnits(objects, where.instance, patience)
        locks = MountLocks(objects, where.instance, patience)
        creation = Creation(active, records, choice, locks, claims, clock)
        seeding = Seeding(StockUnits(objects, where.stock, patience, clock), records, clock)
        self.workshop = Workshop()
        metrics, seconds = OperationMetrics(registry), where.create_seconds
        requests = Requests(records, self.workshop, metrics, clock, seconds)
        pools = ObjectCreation(objects, STOCK_POOLS, where.stock, records, requests, patience)
        storages = ObjectCreation(
            objects, GPU_STORAGES, where.instance, records, requests, patience
        )
        self.function_creation = ObjectCreation(
            objects, FUNCTIONS, where.instance, records, requests, patience
        )
        catalogue = where.catalogue
        self.units = UnitService(objects, where.instance, creation, locks, requests, clock)
        self.stock = StockService(objects, where.stock, catalogue, records, seeding, requests)
        self.pools = PoolService(objects, where.stock, catalogue, pools)
        self.storages = StorageService(objects, where.instance, storages, make_id)
        self.specs = SpecService(objects, where.stock, catalogue)
        self.jobs = JobService(objects, where.system, records)
        lookout = Lookout(objects, where.stock, where.instance, where.system)
        self.feed = Feed(lookout, clock)
        resumable = Resumable(creation, self.stock, pools, storages, self.function_creation)
        self.resumption = Resumption(objects, where.system, requests, resumable, clock, randomness)
