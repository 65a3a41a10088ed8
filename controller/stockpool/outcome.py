"""What came of one reconcile's writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from controller.runtime.errors import KubeError
from controller.stockpool.snapshot import PoolSnapshot
from shared.v1alpha1.gpuunit import GPUUnit

MAX_LISTED_NAMES: Final = 10


@dataclass(slots=True)
class ScalingOutcome:
    """Units made and removed; `overtaken` where somebody else was first and a new look is due."""

    created: list[GPUUnit] = field(default_factory=list)
    deleted: list[GPUUnit] = field(default_factory=list)
    error: KubeError | None = None
    is_stale: bool = False

    def apply_to(self, snapshot: PoolSnapshot) -> PoolSnapshot:
        """What there is now, where there was `view` before."""
        gone = {unit.metadata.uid for unit in self.deleted}
        left = [unit for unit in snapshot.units if unit.metadata.uid not in gone]
        return replace(snapshot, units=(*left, *self.created))


def summarize_units(units: Iterable[GPUUnit]) -> str:
    """The number of units and the names of the first, for people."""
    names = sorted((unit.metadata.name for unit in units), key=lambda name: (len(name), name))
    noun = "unit" if len(names) == 1 else "units"
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return f"{len(names)} {noun}: {', '.join(names[:MAX_LISTED_NAMES])}{more}"
