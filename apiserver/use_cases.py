"""The use cases of the API, put together on one way to reach Kubernetes."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.gateway import Cluster
from apiserver.resources import FUNCTIONS, GPU_STORAGES, STOCK_POOLS
from apiserver.services.active_units import ActiveUnits
from apiserver.services.catalogue import Catalogue
from apiserver.services.claims import Claims
from apiserver.services.creation import Creation
from apiserver.services.jobs import JobService
from apiserver.services.mount_locks import MountLocks
from apiserver.services.object_creation import ObjectCreation
from apiserver.services.operation_metrics import OperationMetrics
from apiserver.services.overview.feed import Feed
from apiserver.services.overview.lookout import Lookout
from apiserver.services.patience import Patience
from apiserver.services.pools import PoolService
from apiserver.services.records import Records
from apiserver.services.requests import Requests
from apiserver.services.resumption import Resumable, Resumption
from apiserver.services.seeding import Seeding
from apiserver.services.specs import SpecService
from apiserver.services.stock import StockService
from apiserver.services.stock_choice import StockChoice
from apiserver.services.stock_units import StockUnits
from apiserver.services.storages import StorageService
from apiserver.services.units import UnitService
from apiserver.services.workshop import Workshop


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
