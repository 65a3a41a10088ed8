"""What came of one reconcile's writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from controller.runtime.errors import ApiError
from controller.stockpool.snapshot import View
from shared.v1alpha1.gpuunit import GPUUnit

MOST_NAMES: Final = 10


@dataclass(slots=True)
class Outcome:
    """Units made and removed; `overtaken` where somebody else was first and a new look is due."""

    made: list[GPUUnit] = field(default_factory=list)
    removed: list[GPUUnit] = field(default_factory=list)
    failure: ApiError | None = None
    overtaken: bool = False

    def after(self, view: View) -> View:
        """What there is now, where there was `view` before."""
        gone = {unit.metadata.uid for unit in self.removed}
        left = [unit for unit in view.units if unit.metadata.uid not in gone]
        return replace(view, units=(*left, *self.made))


def listed(units: Iterable[GPUUnit]) -> str:
    """The number of units and the names of the first, for people."""
    names = sorted((unit.metadata.name for unit in units), key=lambda name: (len(name), name))
    noun = "unit" if len(names) == 1 else "units"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{len(names)} {noun}: {', '.join(names[:MOST_NAMES])}{more}"
