"""The services of the API, built on one client of Kubernetes and one of the queue.

A new service is added here: built in a constructor, and listed in `provided`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from apiserver.dashboard.broadcaster import DashboardBroadcaster
from apiserver.dashboard.collector import SnapshotCollector
from apiserver.dashboard.handlers import DASHBOARD
from apiserver.functions.handlers import FUNCTIONS as FUNCTION_SERVICE
from apiserver.functions.lookup import FunctionLookup
from apiserver.functions.service import FunctionService
from apiserver.http.keys import ProvidedService
from apiserver.invocations.accept import InvocationAcceptor
from apiserver.invocations.archive import Archive
from apiserver.invocations.archive_reader import ArchiveReader
from apiserver.invocations.backpressure import RecordSpace
from apiserver.invocations.handlers import INVOCATION_ACCEPTOR, INVOCATION_LISTS, INVOCATIONS
from apiserver.invocations.lists import InvocationLists
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.service import InvocationService
from apiserver.kube.port import KubeClient, ObjectClient
from apiserver.kube.resources import FUNCTIONS, GPU_STORAGES, STOCK_POOLS
from apiserver.nats.port import QueuePorts
from apiserver.operations.create_object import ObjectCreator
from apiserver.operations.handlers import JOBS
from apiserver.operations.idempotency import IdempotentRunner, OperationWork
from apiserver.operations.metrics import OperationMetrics
from apiserver.operations.resume import OperationResumer
from apiserver.operations.retry import Retry
from apiserver.operations.service import JobService
from apiserver.operations.store import OperationStore
from apiserver.operations.task_registry import KeyedTasks
from apiserver.process import TaskFactory
from apiserver.specs.catalogue import Catalogue
from apiserver.specs.handlers import SPECS
from apiserver.specs.service import SpecService
from apiserver.stock_pools.handlers import POOLS
from apiserver.stock_pools.service import PoolService
from apiserver.stock_units.create import StockUnitCreator
from apiserver.stock_units.handlers import STOCK
from apiserver.stock_units.seed import StockSeeder
from apiserver.stock_units.service import StockService
from apiserver.storages.handlers import STORAGES
from apiserver.storages.service import StorageService
from apiserver.units.create import UnitCreator
from apiserver.units.handlers import UNITS
from apiserver.units.service import UnitService
from apiserver.units.stock_claims import StockClaims
from apiserver.units.stock_selection import StockSelector
from apiserver.units.storage_locks import StorageLocks
from apiserver.units.store import UnitStore
from shared.clock import Clock
from shared.v1alpha1.function import Function
from shared.v1alpha1.operation import OperationType


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The part of the configuration that services need."""

    stock_namespace: str
    instance_namespace: str
    system_namespace: str
    catalogue: Catalogue
    create_timeout_seconds: float
    record_retention_seconds: float = 72 * 3600.0


class KubeServices:
    """The services that need Kubernetes only, and the tasks that run behind them."""

    def __init__(
        self,
        objects: KubeClient,
        settings: ServiceSettings,
        registry: CollectorRegistry,
        clock: Clock,
        random: Random,
        make_id: Callable[[], str],
    ) -> None:
        stock, instances = settings.stock_namespace, settings.instance_namespace
        catalogue = settings.catalogue
        retry = Retry(clock, random)
        operations = OperationStore(objects, settings.system_namespace, retry, clock, make_id)
        self.operation_tasks = KeyedTasks()
        runner = IdempotentRunner(
            operations,
            self.operation_tasks,
            OperationMetrics(registry),
            clock,
            settings.create_timeout_seconds,
        )
        storage_locks = StorageLocks(objects, instances, retry)
        unit_creator = UnitCreator(
            UnitStore(objects, instances, retry),
            operations,
            StockSelector(objects, stock, retry, clock, random),
            storage_locks,
            StockClaims(objects, stock, retry, clock),
            runner,
            clock,
        )
        seeder = StockSeeder(StockUnitCreator(objects, stock, retry, clock), operations, clock)
        pool_creator = ObjectCreator(objects, STOCK_POOLS, stock, operations, runner, retry)
        storage_creator = ObjectCreator(objects, GPU_STORAGES, instances, operations, runner, retry)
        self.function_creator = ObjectCreator(
            objects, FUNCTIONS, instances, operations, runner, retry
        )
        self.units = UnitService(objects, instances, unit_creator, storage_locks, clock)
        self.stock = StockService(objects, stock, catalogue, operations, seeder, runner)
        self.pools = PoolService(objects, stock, catalogue, pool_creator)
        self.storages = StorageService(objects, instances, storage_creator, make_id)
        self.specs = SpecService(objects, stock, catalogue)
        self.jobs = JobService(objects, settings.system_namespace, operations)
        collector = SnapshotCollector(objects, stock, instances, settings.system_namespace)
        self.dashboard = DashboardBroadcaster(collector, clock)
        work: dict[str, OperationWork] = {
            OperationType.CREATE_GPU_UNIT: unit_creator.resume,
            OperationType.SEED_STOCK_UNITS: self.stock.finish_seeding,
            OperationType.CREATE_STOCK_POOL: pool_creator.finish,
            OperationType.CREATE_GPU_STORAGE: storage_creator.finish,
            OperationType.CREATE_FUNCTION: self.function_creator.finish,
        }
        self.resumer = OperationResumer(
            objects, settings.system_namespace, runner, work, clock, random
        )

    @property
    def background_tasks(self) -> dict[str, TaskFactory]:
        """Return the tasks that work behind the services, by name."""
        return {
            "operations": self.operation_tasks.run,
            "resume": self.resumer.run,
            "overview": self.dashboard.run,
        }

    @property
    def provided(self) -> tuple[ProvidedService[Any], ...]:
        """Return each service with the key of its handlers."""
        return (
            ProvidedService(UNITS, self.units),
            ProvidedService(STOCK, self.stock),
            ProvidedService(POOLS, self.pools),
            ProvidedService(STORAGES, self.storages),
            ProvidedService(SPECS, self.specs),
            ProvidedService(JOBS, self.jobs),
            ProvidedService(DASHBOARD, self.dashboard),
        )


class ServerlessServices:
    """The services that need Kubernetes and the queue."""

    def __init__(
        self,
        objects: ObjectClient,
        queue: QueuePorts,
        settings: ServiceSettings,
        function_creator: ObjectCreator[Function],
        registry: CollectorRegistry,
        clock: Clock,
        make_id: Callable[[], str],
        archive: Archive | None = None,
    ) -> None:
        instances, retention = settings.instance_namespace, settings.record_retention_seconds
        lookup = FunctionLookup(objects, instances, clock)
        metrics = InvocationMetrics(registry)
        record_space = RecordSpace(queue, clock)
        reader = ArchiveReader(archive, clock, retention) if archive is not None else None
        self.functions = FunctionService(
            objects, instances, function_creator, queue.calls, retention
        )
        self.invocation_acceptor = InvocationAcceptor(
            queue, lookup, record_space, metrics, clock, make_id, retention
        )
        self.invocations = InvocationService(queue, lookup, record_space, metrics, clock, reader)
        self.invocation_lists = InvocationLists(queue.history, lookup, reader)

    @property
    def provided(self) -> tuple[ProvidedService[Any], ...]:
        """Return each service with the key of its handlers."""
        return (
            ProvidedService(FUNCTION_SERVICE, self.functions),
            ProvidedService(INVOCATION_ACCEPTOR, self.invocation_acceptor),
            ProvidedService(INVOCATIONS, self.invocations),
            ProvidedService(INVOCATION_LISTS, self.invocation_lists),
        )
