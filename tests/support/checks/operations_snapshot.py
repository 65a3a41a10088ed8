"""All that operations leave in a cluster, as it is at one moment."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from apiserver.clock import Clock
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS, OPERATIONS, Object
from apiserver.operations.store import is_final
from apiserver.wiring import Surroundings
from controller.gpuunit.handoff import claim_validity
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.storage_lock import lock_of
from tests.support.checks.operation_invariants import Answer, Rest

REST_SECONDS = 15.0  # the resumption looks every 5 s, and resumes what it sees twice
MOST_LOOKS = 100  # two and a half minutes of a hurried clock: caches may be blind for so long


@dataclass(frozen=True)
class Snapshot:
    """Stock, users' units, records and storages."""

    stock: tuple[GPUUnit, ...]
    units: tuple[GPUUnit, ...]
    records: tuple[Operation, ...]
    storages: tuple[GPUStorage, ...] = ()

    @classmethod
    async def of(cls, objects: Objects, where: Surroundings) -> "Snapshot":
        """What is there now."""
        stock = await objects.list(GPU_UNITS, where.stock, Selection())
        units = await objects.list(GPU_UNITS, where.instance, Selection())
        records = await objects.list(OPERATIONS, where.system, Selection())
        storages = await objects.list(GPU_STORAGES, where.instance, Selection())
        return cls(stock.items, units.items, records.items, storages.items)

    def of_spec(self, name: str) -> "Snapshot":
        """What belongs to one spec; ids of operations begin with its name."""
        return Snapshot(
            tuple(each for each in self.stock if each.spec.spec_name == name),
            tuple(each for each in self.units if each.spec.spec_name == name),
            tuple(each for each in self.records if each.spec.operation_id.startswith(f"{name}-")),
            tuple(each for each in self.storages if each.metadata.name.startswith(f"{name}-")),
        )

    @property
    def everything(self) -> list[Object]:
        """All objects."""
        return [*self.stock, *self.units, *self.records, *self.storages]

    @property
    def versions(self) -> frozenset[str]:
        return frozenset(each.metadata.resource_version for each in self.everything)

    @property
    def is_busy(self) -> bool:
        """Whether something is bound to change, or else is stuck."""
        is_going = any(each.metadata.deletion_timestamp for each in self.everything)
        is_claimed = any(map(claim_validity.is_claimed, self.stock))
        is_open = not all(map(is_final, self.records))
        return is_going or is_claimed or is_open or bool(self._holders - self._names)

    @property
    def _holders(self) -> set[str]:
        """The units that storages are locked for, also those that are gone."""
        locks = (lock_of(storage.metadata.annotations) for storage in self.storages)
        return {lock.unit for lock in locks if lock is not None}

    @property
    def _names(self) -> set[str]:
        return {unit.metadata.name for unit in self.units}


async def still(look: Callable[[], Awaitable[Snapshot]], clock: Clock) -> Snapshot:
    """What there is once it no longer changes; what never ends is told too."""
    before = await look()
    for _ in range(MOST_LOOKS):
        await clock.sleep(REST_SECONDS)
        now = await look()
        if now.versions == before.versions and not now.is_busy:
            break
        before = now
    return before


def rest_of(
    left: Snapshot,
    answers: Sequence[Answer],
    *,
    by_hand: Collection[str] = (),
    discarded: Collection[str] = (),
    removed: Sequence[GPUUnit] = (),
    ever_ready: Collection[str] = (),
) -> Rest:
    """What the checker wants to know; stock that is listed was ready, or would have been."""
    listed = {
        made.uid
        for record in left.records
        if record.spec.type == OperationType.SEED_STOCK_UNITS
        for made in record.status.objects
    }
    return Rest(
        seeded=frozenset({*by_hand, *listed, *ever_ready}),
        by_hand=frozenset(by_hand),
        discarded=frozenset(discarded),
        removed=removed,
        stock=left.stock,
        units=left.units,
        records=left.records,
        storages=left.storages,
        answers=answers,
    )
