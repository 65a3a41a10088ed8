"""Stock pools: created once per operation, read, changed and deleted."""

import msgspec

from apiserver.kube.port import JsonObject, ListOptions, ObjectClient, Page
from apiserver.kube.resources import STOCK_POOLS, Revision
from apiserver.operations.create_object import ObjectCreator
from apiserver.operations.result import DeletedObject, OperationResult
from apiserver.resource_store import ResourceStore
from apiserver.specs.catalogue import Catalogue, RequestedResources
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from shared.k8s import merge_patch
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec


class PoolService:
    """Creates, reads, changes and deletes stock pools."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        catalogue: Catalogue,
        creator: ObjectCreator[StockPool],
    ) -> None:
        self._pools = ResourceStore(objects, STOCK_POOLS, namespace, "stock pool")
        self._catalogue = catalogue
        self._creator = creator

    async def create(
        self, command: CreatePool
    ) -> OperationResult[StockPool | DeletedObject | Operation]:
        """Create a pool, once for all requests of the operation."""
        return await self._creator.create(
            command, lambda: self._spec(command.spec_name, command.settings)
        )

    async def list(self, limit: int, continue_token: str) -> Page[StockPool]:
        """Return one page of pools; ContinueTokenExpiredError."""
        return await self._pools.list(ListOptions(limit=limit, continue_token=continue_token))

    async def get(self, name: str) -> StockPool:
        """Return the pool as it is now; NotFoundError."""
        return await self._pools.get(name)

    async def replace(
        self, name: str, settings: PoolSettings, if_match: tuple[Revision, ...] | None
    ) -> StockPool:
        """Replace the settings; PreconditionFailedError if the caller saw another revision."""

        async def make_patch(pool: StockPool) -> JsonObject:
            spec = self._spec(pool.spec.spec_name, settings)
            meta = pool.metadata
            preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
            changes = merge_patch.create_merge_patch(pool.spec, spec)
            return {"metadata": preconditions, "spec": changes}

        return await self._pools.patch(name, make_patch, if_match)

    async def delete(self, name: str) -> None:
        """Delete the pool with its unclaimed stock; NotFoundError."""
        await self._pools.delete(name)

    def _spec(self, spec_name: str, settings: PoolSettings) -> StockPoolSpec:
        requested = RequestedResources(
            cpu=settings.cpu,
            memory=settings.memory,
            gpu=settings.gpu,
            gpu_resource=settings.gpu_resource,
            node_selector=settings.node_selector,
            tolerations=settings.tolerations,
            shm_size=settings.shm_size,
        )
        resources = self._catalogue.resolve_resources(spec_name, requested)
        return StockPoolSpec(
            **msgspec.structs.asdict(resources),
            replicas=settings.replicas or 0,
            max_unavailable=settings.max_unavailable,
        )
