"""A snapshot of all objects that operations change."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS, OPERATIONS, KubeObject
from apiserver.operations.store import is_final
from apiserver.wiring import ServiceSettings
from shared.clock import Clock
from shared.v1alpha1 import stock_claim
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.storage_lock import parse_storage_lock
from tests.support.checks.operation_invariants import CallerResult, FinalState

QUIET_SECONDS = 15.0  # the resumption lists every 5 s, and resumes what it lists twice
MAX_SNAPSHOTS = 100  # two and a half minutes of a fast clock, because a cache may lag that long


@dataclass(frozen=True)
class OperationsSnapshot:
    """Stock, users' units, Operations and storages."""

    stock: tuple[GPUUnit, ...]
    units: tuple[GPUUnit, ...]
    operations: tuple[Operation, ...]
    storages: tuple[GPUStorage, ...] = ()

    @classmethod
    async def take(
        cls, gateway: ObjectClient, service_settings: ServiceSettings
    ) -> "OperationsSnapshot":
        """List everything that exists now."""
        stock = await gateway.list(GPU_UNITS, service_settings.stock_namespace, ListOptions())
        units = await gateway.list(GPU_UNITS, service_settings.instance_namespace, ListOptions())
        operations = await gateway.list(
            OPERATIONS, service_settings.system_namespace, ListOptions()
        )
        storages = await gateway.list(
            GPU_STORAGES, service_settings.instance_namespace, ListOptions()
        )
        return cls(stock.items, units.items, operations.items, storages.items)

    def only_spec(self, name: str) -> "OperationsSnapshot":
        """Return the objects of one spec; its operation ids begin with the spec's name."""
        return OperationsSnapshot(
            tuple(item for item in self.stock if item.spec.spec_name == name),
            tuple(item for item in self.units if item.spec.spec_name == name),
            tuple(
                item for item in self.operations if item.spec.operation_id.startswith(f"{name}-")
            ),
            tuple(item for item in self.storages if item.metadata.name.startswith(f"{name}-")),
        )

    @property
    def all_objects(self) -> list[KubeObject]:
        """Return all objects."""
        return [*self.stock, *self.units, *self.operations, *self.storages]

    @property
    def versions(self) -> frozenset[str]:
        return frozenset(item.metadata.resource_version for item in self.all_objects)

    @property
    def has_pending_changes(self) -> bool:
        """Return whether a change is still expected, or an object is stuck."""
        is_deleting = any(item.metadata.deletion_timestamp for item in self.all_objects)
        is_claimed = any(map(stock_claim.is_claimed, self.stock))
        is_open = not all(map(is_final, self.operations))
        return is_deleting or is_claimed or is_open or bool(self._lock_holders - self._unit_names)

    @property
    def _lock_holders(self) -> set[str]:
        """Return the names of the units in storage locks, also of deleted units."""
        locks = (parse_storage_lock(storage.metadata.annotations) for storage in self.storages)
        return {lock.unit for lock in locks if lock is not None}

    @property
    def _unit_names(self) -> set[str]:
        return {unit.metadata.name for unit in self.units}


async def wait_unchanged(
    take_snapshot: Callable[[], Awaitable[OperationsSnapshot]], clock: Clock
) -> OperationsSnapshot:
    """Return the snapshot once nothing changes, or after `MAX_SNAPSHOTS`."""
    before = await take_snapshot()
    for _ in range(MAX_SNAPSHOTS):
        await clock.sleep(QUIET_SECONDS)
        now = await take_snapshot()
        if now.versions == before.versions and not now.has_pending_changes:
            break
        before = now
    return before


def final_state(
    snapshot: OperationsSnapshot,
    results: Sequence[CallerResult],
    *,
    created_by_hand: Collection[str] = (),
    discarded: Collection[str] = (),
    removed: Sequence[GPUUnit] = (),
    ever_ready: Collection[str] = (),
) -> FinalState:
    """Return the checker's input; listed stock counts as ready."""
    listed = {
        entry.uid
        for operation in snapshot.operations
        if operation.spec.type == OperationType.SEED_STOCK_UNITS
        for entry in operation.status.objects
    }
    return FinalState(
        seeded=frozenset({*created_by_hand, *listed, *ever_ready}),
        created_by_hand=frozenset(created_by_hand),
        discarded=frozenset(discarded),
        removed=removed,
        stock=snapshot.stock,
        units=snapshot.units,
        operations=snapshot.operations,
        storages=snapshot.storages,
        results=results,
    )
