"""Stock pools: created once per operation, read, changed and deleted."""

import msgspec

from apiserver.errors import NotFoundError, PreconditionFailedError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient, Page
from apiserver.kube.resources import STOCK_POOLS, Revision, revision_of
from apiserver.operations.create_object import ObjectCreator
from apiserver.operations.result import DeletedObject, OperationResult
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
        self._objects = objects
        self._namespace = namespace
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
        selection = ListOptions(limit=limit, continue_token=continue_token)
        return await self._objects.list(STOCK_POOLS, self._namespace, selection)

    async def get(self, name: str) -> StockPool:
        """Return the pool as it is now; NotFoundError."""
        try:
            return await self._objects.get(STOCK_POOLS, self._namespace, name)
        except kube_errors.NotFoundError:
            raise pool_not_found_error(name) from None

    async def replace(
        self, name: str, settings: PoolSettings, if_match: tuple[Revision, ...] | None
    ) -> StockPool:
        """Replace the settings; PreconditionFailedError if the caller saw another revision."""
        while True:
            pool = await self.get(name)
            if if_match is not None and revision_of(pool.metadata) not in if_match:
                raise PreconditionFailedError("the pool has changed since it was read")
            spec = self._spec(pool.spec.spec_name, settings)
            meta = pool.metadata
            preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
            changes = merge_patch.create_merge_patch(pool.spec, spec)
            patch = {"metadata": preconditions, "spec": changes}
            try:
                return await self._objects.patch(STOCK_POOLS, self._namespace, name, patch)
            except kube_errors.ConflictError:
                continue
            except kube_errors.NotFoundError:
                raise pool_not_found_error(name) from None

    async def delete(self, name: str) -> None:
        """Delete the pool with its unclaimed stock; NotFoundError."""
        try:
            await self._objects.delete(STOCK_POOLS, self._namespace, name)
        except kube_errors.NotFoundError:
            raise pool_not_found_error(name) from None

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


def pool_not_found_error(name: str) -> NotFoundError:
    return NotFoundError(f"there is no stock pool {name!r}")
