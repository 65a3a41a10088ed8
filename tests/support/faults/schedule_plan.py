"""Random plans of schedules: a seed determines a whole run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from shared.v1alpha1.mount import StorageMount
from tests.support.faults.faulty_gateway import CallFault

CALL_FAULTS = {
    CallFault.DELAYED: 3,
    CallFault.UNREACHABLE: 3,
    CallFault.TIMEOUT: 2,
    CallFault.LOST_ANSWER: 4,
    CallFault.BUSY: 2,
    CallFault.CONFLICT: 2,
    CallFault.SERVER_ERROR: 2,
}
CALL_FAULTS_AND_CRASHES = {**CALL_FAULTS, CallFault.KILLED_BEFORE: 2, CallFault.KILLED_AFTER: 2}
NO_FAULTS: dict[CallFault, int] = {}


@dataclass(frozen=True)
class SchedulePlan:
    """The contents of a schedule; `faults` are percentages of all calls.

    `seeds` are the sizes of the seed operations. With `has_conflicts` operations use the same
    names and the same stock, and some callers send another request under the same id.
    """

    seed: int
    stock: int = 4
    operations: int = 4
    replicas: int = 2
    callers_each: int = 2
    late_stock: int = 0
    deletions: int = 0
    seeds: tuple[int, ...] = ()
    discards: int = 0
    storages: int = 0
    has_conflicts: bool = False
    faults: Mapping[CallFault, int] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """Return the prefix of this run's names, because several runs share a cluster."""
        return f"s{self.seed}"

    def commands(self, caller: int = 0) -> list[CreateUnit | SeedStock]:
        """Return the commands of one caller of each operation."""
        seeds = [
            SeedStock(f"{self.prefix}-seed-{number}", self.prefix, replicas, memory="1Mi", gpu=0)
            for number, replicas in enumerate(self.seeds)
        ]
        creates = [
            CreateUnit(
                f"{self.prefix}-op-{number}",
                self.unit_name(number),
                self.prefix,
                "b:1" if self.has_conflicts and (number + caller) % 5 == 4 else "a:1",
                self.stock_name(number),
                storage_mounts=self.mounts(number),
            )
            for number in range(self.operations)
        ]
        return [*seeds, *creates]

    def unit_name(self, number: int) -> str:
        """Return the name of a unit; with conflicts, two operations in three share one."""
        is_shared = self.has_conflicts and number % 3 == 1
        return f"{self.prefix}-unit-{number - 1 if is_shared else number}"

    def stock_name(self, number: int) -> str | None:
        """Return the stock that an operation names; with conflicts one in four, otherwise None."""
        if not self.has_conflicts or number % 4 != 2:
            return None
        return f"{self.prefix}-stock-{number % max(1, self.stock)}"

    def mounts(self, number: int) -> tuple[StorageMount, ...]:
        """Return two neighbouring storages; odd operations list them in reverse order."""
        if not self.storages:
            return ()
        storages = sorted({(number + offset) % self.storages for offset in range(2)})
        ordered = storages[::-1] if number % 2 else storages
        return tuple(
            StorageMount(name=self.storage_name(storage), mount_path=f"/{storage}")
            for storage in ordered
        )

    def storage_name(self, number: int) -> str:
        """Return the name of a storage."""
        return f"{self.prefix}-data-{number}"


def random_plan(seed: int) -> SchedulePlan:
    """Draw a plan: about as much stock as operations need, and one to three replicas.

    Every second plan has crashes, every second seeds stock and deletes some, and every second has
    fewer storages than units that mount them. Every third has conflicts.
    """
    randomness = Random(seed)
    operations = randomness.randrange(1, 7)
    return SchedulePlan(
        seed,
        stock=max(0, operations + randomness.choice([-2, -1, 0, 0, 0, 1, 2])),
        operations=operations,
        replicas=randomness.randrange(1, 4),
        callers_each=randomness.randrange(1, 4),
        late_stock=randomness.randrange(3),
        deletions=randomness.randrange(3),
        faults=randomness.choice(
            [
                NO_FAULTS,
                CALL_FAULTS,
                CALL_FAULTS,
                CALL_FAULTS_AND_CRASHES,
                CALL_FAULTS_AND_CRASHES,
                CALL_FAULTS_AND_CRASHES,
            ]
        ),
        seeds=randomness.choice([(), (), (), (1,), (3,), (1, 2)]),
        discards=randomness.choice([0, 0, 1, 2]),
        has_conflicts=randomness.choice([False, False, True]),
        storages=Random(seed).choice([0, 0, 1, 3]),
    )


def draw_fault(randomness: Random, percentages: Mapping[CallFault, int]) -> CallFault:
    """Draw a fault by its percentage, or none."""
    number = randomness.randrange(100)
    for fault, percentage in percentages.items():
        if number < percentage:
            return fault
        number -= percentage
    return CallFault.NONE


def has_stock_for_all(plan: SchedulePlan) -> bool:
    """Return whether every operation must get a unit."""
    is_enough = plan.stock - plan.discards >= plan.operations
    return is_enough and not plan.has_conflicts and not plan.storages
