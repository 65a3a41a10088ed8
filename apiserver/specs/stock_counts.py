"""Counts of stock by spec and phase."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase


@dataclass(frozen=True, slots=True)
class StockCount:
    """The number of stock units of a spec in a phase."""

    spec_name: str
    phase: str
    count: int


def count_stock(units: Iterable[GPUUnit]) -> tuple[StockCount, ...]:
    """Return the counts, sorted by spec and phase."""
    counts = Counter((unit.spec.spec_name, unit_phase(unit)) for unit in units)
    return tuple(StockCount(spec, phase, count) for (spec, phase), count in sorted(counts.items()))


def unit_phase(unit: GPUUnit) -> str:
    """Return the phase of a unit; Progressing if the controller has not set one yet."""
    return unit.status.phase or UnitPhase.PROGRESSING.value
