"""Random plans: a seed gives the whole run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from apiserver.commands import CreateUnit, SeedStock
from shared.v1alpha1.mount import StorageMount
from tests.support.faults.faulty_gateway import Fault

FAILING = {
    Fault.LATE: 3,
    Fault.UNREACHABLE: 3,
    Fault.TIMEOUT: 2,
    Fault.LOST_ANSWER: 4,
    Fault.BUSY: 2,
    Fault.CONFLICT: 2,
    Fault.SERVER_ERROR: 2,
}
DYING = {**FAILING, Fault.KILLED_BEFORE: 2, Fault.KILLED_AFTER: 2}
CALM: dict[Fault, int] = {}


@dataclass(frozen=True)
class Plan:
    """What a run is made of; `faults` are how often each call goes wrong, in hundredths.

    `seeds` are the sizes of the seeding operations. With `rivals` operations want the same names
    and the same stock, and some callers send another request under the same id.
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
    rivals: bool = False
    faults: Mapping[Fault, int] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """What the names of this run begin with: several fit beside each other."""
        return f"s{self.seed}"

    def commands(self, caller: int = 0) -> list[CreateUnit | SeedStock]:
        """What one caller of each operation sends."""
        seeds = [
            SeedStock(f"{self.mark}-seed-{number}", self.mark, replicas, memory="1Mi", gpu=0)
            for number, replicas in enumerate(self.seeds)
        ]
        creates = [
            CreateUnit(
                f"{self.mark}-op-{number}",
                self.unit(number),
                self.mark,
                "b:1" if self.rivals and (number + caller) % 5 == 4 else "a:1",
                self.stock_name(number),
                storage_mounts=self.mounts(number),
            )
            for number in range(self.operations)
        ]
        return [*seeds, *creates]

    def unit(self, number: int) -> str:
        """The name of a unit; of rivals two in three share one."""
        is_shared = self.rivals and number % 3 == 1
        return f"{self.mark}-unit-{number - 1 if is_shared else number}"

    def stock_name(self, number: int) -> str | None:
        """The stock that an operation names; one in four of the rivals does."""
        if not self.rivals or number % 4 != 2:
            return None
        return f"{self.mark}-stock-{number % max(1, self.stock)}"

    def mounts(self, number: int) -> tuple[StorageMount, ...]:
        """Two neighbours of the storages; the odd operations want them the other way round."""
        if not self.storages:
            return ()
        wanted = sorted({(number + each) % self.storages for each in range(2)})
        ordered = wanted[::-1] if number % 2 else wanted
        return tuple(
            StorageMount(name=self.storage(each), mount_path=f"/{each}") for each in ordered
        )

    def storage(self, number: int) -> str:
        """The name of a storage."""
        return f"{self.mark}-data-{number}"


def plan_of(seed: int) -> Plan:
    """About as much stock as is asked for, one to three replicas, every second run with deaths.

    Every second run also seeds stock, and operators delete some. Every second has fewer storages
    than units that mount them; in every third there are rivals.
    """
    randomness = Random(seed)
    operations = randomness.randrange(1, 7)
    return Plan(
        seed,
        stock=max(0, operations + randomness.choice([-2, -1, 0, 0, 0, 1, 2])),
        operations=operations,
        replicas=randomness.randrange(1, 4),
        callers_each=randomness.randrange(1, 4),
        late_stock=randomness.randrange(3),
        deletions=randomness.randrange(3),
        faults=randomness.choice([CALM, FAILING, FAILING, DYING, DYING, DYING]),
        seeds=randomness.choice([(), (), (), (1,), (3,), (1, 2)]),
        discards=randomness.choice([0, 0, 1, 2]),
        rivals=randomness.choice([False, False, True]),
        storages=Random(seed).choice([0, 0, 1, 3]),
    )


def drawn(randomness: Random, chances: Mapping[Fault, int]) -> Fault:
    """One of the faults, or none; chances are in hundredths."""
    number = randomness.randrange(100)
    for fault, hundredths in chances.items():
        if number < hundredths:
            return fault
        number -= hundredths
    return Fault.NONE


def has_enough_for_all(plan: Plan) -> bool:
    """Whether nobody may be sent away for good."""
    is_enough = plan.stock - plan.discards >= plan.operations
    return is_enough and not plan.rivals and not plan.storages
