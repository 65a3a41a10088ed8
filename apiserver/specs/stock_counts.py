"""How much stock there is, by spec and phase."""

from collections import Counter
from collections.abc import Iterable

from apiserver.stock_units.port import StockCount
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase


def count_stock(units: Iterable[GPUUnit]) -> tuple[StockCount, ...]:
    """In the order of specs and phases."""
    counts = Counter((unit.spec.spec_name, unit_phase(unit)) for unit in units)
    return tuple(StockCount(spec, phase, count) for (spec, phase), count in sorted(counts.items()))


def unit_phase(unit: GPUUnit) -> str:
    """A unit that the controller has not seen yet is on its way."""
    return unit.status.phase or UnitPhase.PROGRESSING.value
