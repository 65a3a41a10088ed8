"""Stock that one look has found, for all who come within a moment."""

from collections.abc import Iterable
from random import Random

from shared.v1alpha1.gpuunit import GPUUnit


class StockCandidates:
    """Gives each unit away once, in an order that no other process has."""

    def __init__(self, units: Iterable[GPUUnit], rng: Random, expires_at: float) -> None:
        self._units = list(units)
        rng.shuffle(self._units)
        self._expires_at = expires_at

    def take(self, now: float) -> GPUUnit | None:
        """One that nobody here has got; None when it is empty or has stood for too long."""
        return self._units.pop() if self._units and now < self._expires_at else None
