"""Replicas of the API on one model, whose calls take turns in an order that a seed decides."""

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
from apiserver.wiring import Surroundings, UseCases
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from tests.model.gateway import ModelClient, decoded
from tests.model.namespaces import INSTANCE, STOCK, SYSTEM
from tests.model.scheduler import Turnstile
from tests.model.server import Document, ModelServer

T = TypeVar("T")

FOR_EVER = 1e6


async def settle(work: Coroutine[Any, Any, T], outcome: "asyncio.Future[T]") -> None:
    """Keep what came of `work`, a failure too."""
    try:
        outcome.set_result(await work)
    except (ServiceError, kube_errors.ClusterError) as error:
        outcome.set_exception(error)


class ModelAPI:
    """The use cases of so many replicas; `server` is what they share."""

    def __init__(
        self, *, seed: int = 0, replicas: int = 1, create_seconds: float = FOR_EVER
    ) -> None:
        self._create_seconds = create_seconds
        self.server = ModelServer()
        self._randomness = Random(seed)
        self._turnstile = Turnstile(self._randomness)
        self._ids = itertools.count()
        self._clients = [ModelClient(self.server, self._turnstile) for _ in range(replicas)]
        self.restart(Catalogue())

    def restart(self, catalogue: Catalogue) -> None:
        """New processes, with this catalogue."""
        self.replicas = [self._use_cases(client, catalogue) for client in self._clients]

    def know(self, *classes: StorageClass) -> None:
        """Let the cluster have these classes."""
        for client in self._clients:
            client.classes = classes

    def add(self, resource: Resource[Any], namespace: str, document: Document) -> None:
        """An object as it is found, with its status."""
        self.server.create(resource, namespace, document)
        name, status = document["metadata"]["name"], {"status": document.get("status", {})}
        self.server.patch(resource, namespace, name, status, "status")

    def add_stock(self, name: str) -> None:
        """A stock unit that can be claimed."""
        spec = {"specName": "g1.1", "gpu": 1}
        ready = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Ready"}}
        self.add(GPU_UNITS, STOCK, ready)

    def add_storage(self, name: str, status: Document | None = None, **spec: Any) -> None:
        """A storage of 1Gi."""
        body = {"metadata": {"name": name}, "spec": {"size": "1Gi", **spec}, "status": status or {}}
        self.add(GPU_STORAGES, INSTANCE, body)

    def note(self, name: str, **metadata: Any) -> None:
        """Change the metadata of a storage, as somebody else does."""
        self.server.patch(GPU_STORAGES, INSTANCE, name, {"metadata": metadata}, "")

    def storage(self, name: str) -> GPUStorage:
        """A storage as it is now."""
        return decoded(GPU_STORAGES, self.server.get(GPU_STORAGES, INSTANCE, name))

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The outcome of `work`, for which everybody takes turns."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            shops = [group.create_task(each.workshop.run()) for each in self.replicas]
            await self._turnstile.drive(group.create_task(settle(work, outcome)))
            for shop in shops:
                shop.cancel()
        return outcome.result()

    def _use_cases(self, client: ModelClient, catalogue: Catalogue) -> UseCases:
        where = Surroundings(STOCK, INSTANCE, SYSTEM, catalogue, self._create_seconds)
        return UseCases(
            client,
            where,
            CollectorRegistry(),
            self._turnstile,
            self._randomness,
            lambda: f"id-{next(self._ids)}",
        )
