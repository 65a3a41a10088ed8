"""API replicas on one model, whose calls a seed orders."""

import asyncio
import itertools
from collections.abc import Coroutine
from random import Random
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry

from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS, Resource
from apiserver.specs.catalogue import Catalogue
from apiserver.wiring import KubeServices, ServiceSettings
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from tests.model.gateway import ModelGateway, decode_object
from tests.model.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from tests.model.scheduler import DeterministicScheduler
from tests.model.server import Document, ModelServer

T = TypeVar("T")

NO_TIME_LIMIT_SECONDS = 1e6


async def resolve(coroutine: Coroutine[Any, Any, T], future: "asyncio.Future[T]") -> None:
    """Store the result of a coroutine in a future, also a failure."""
    try:
        future.set_result(await coroutine)
    except (ServiceError, kube_errors.KubeError) as error:
        future.set_exception(error)


class ModelApi:
    """The services of some replicas; `server` is the model that they share."""

    def __init__(
        self, *, seed: int = 0, replicas: int = 1, create_seconds: float = NO_TIME_LIMIT_SECONDS
    ) -> None:
        self._create_seconds = create_seconds
        self.server = ModelServer()
        self._randomness = Random(seed)
        self._scheduler = DeterministicScheduler(self._randomness)
        self._ids = itertools.count()
        self._clients = [ModelGateway(self.server, self._scheduler) for _ in range(replicas)]
        self.restart(Catalogue())

    def restart(self, catalogue: Catalogue) -> None:
        """Start new processes with this catalogue."""
        self.replicas = [self._new_services(client, catalogue) for client in self._clients]

    def set_storage_classes(self, *storage_classes: StorageClass) -> None:
        """Set the storage classes of the cluster."""
        for client in self._clients:
            client.known_storage_classes = storage_classes

    def add_object(self, resource: Resource[Any], namespace: str, document: Document) -> None:
        """Create an object with its status."""
        self.server.create(resource, namespace, document)
        name, status = document["metadata"]["name"], {"status": document.get("status", {})}
        self.server.patch(resource, namespace, name, status, "status")

    def add_stock(self, name: str) -> None:
        """Create a stock unit that can be claimed."""
        spec = {"specName": "g1.1", "gpu": 1}
        ready = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Ready"}}
        self.add_object(GPU_UNITS, STOCK_NAMESPACE, ready)

    def add_storage(self, name: str, status: Document | None = None, **spec: Any) -> None:
        """Create a storage of 1Gi."""
        body = {"metadata": {"name": name}, "spec": {"size": "1Gi", **spec}, "status": status or {}}
        self.add_object(GPU_STORAGES, INSTANCE_NAMESPACE, body)

    def patch_storage_metadata(self, name: str, **metadata: Any) -> None:
        """Change the metadata of a storage, as another client does."""
        self.server.patch(GPU_STORAGES, INSTANCE_NAMESPACE, name, {"metadata": metadata}, "")

    def get_storage(self, name: str) -> GPUStorage:
        """Return a storage as it is now."""
        return decode_object(GPU_STORAGES, self.server.get(GPU_STORAGES, INSTANCE_NAMESPACE, name))

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine while the scheduler orders all calls."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(replica.operation_tasks.run()) for replica in self.replicas
            ]
            await self._scheduler.run_until(group.create_task(resolve(coroutine, outcome)))
            for task in background:
                task.cancel()
        return outcome.result()

    def _new_services(self, client: ModelGateway, catalogue: Catalogue) -> KubeServices:
        settings = ServiceSettings(
            STOCK_NAMESPACE, INSTANCE_NAMESPACE, SYSTEM_NAMESPACE, catalogue, self._create_seconds
        )
        return KubeServices(
            client,
            settings,
            CollectorRegistry(),
            self._scheduler,
            self._randomness,
            lambda: f"id-{next(self._ids)}",
        )
