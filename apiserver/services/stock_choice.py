"""Which stock unit a new unit is made from."""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Final

from apiserver.errors import InsufficientCapacityError
from apiserver.gateway import AbsentError, Objects, Selection
from apiserver.resources import GPU_UNITS
from apiserver.services.patience import Patience
from shared.phases import UnitPhase
from shared.v1alpha1.gpuunit import GPUUnit
from shared.wellknown import CLAIM_OPERATION, CLAIMED_LABEL

# Many choose at once: from a page of this size they seldom choose the same.
PAGE: Final = 50


class StockChoice:
    """Finds ready stock that nobody has claimed."""

    def __init__(
        self, objects: Objects, namespace: str, patience: Patience, randomness: Random
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._patience = patience
        self._randomness = randomness

    async def candidates(self, spec_name: str, stock_name: str | None) -> list[GPUUnit]:
        """Units to try, in this order; at random, so that concurrent requests spread."""
        if stock_name is not None:
            return await self._named(spec_name, stock_name)
        selection = Selection(
            labels=f"!{CLAIMED_LABEL}",
            fields=f"spec.specName={spec_name},status.phase={UnitPhase.READY.value}",
            limit=PAGE,
        )
        page = await self._patience.with_call(
            lambda: self._objects.list(GPU_UNITS, self._namespace, selection)
        )
        found = [unit for unit in page.items if is_claimable(unit)]
        self._randomness.shuffle(found)
        return found

    async def _named(self, spec_name: str, name: str) -> list[GPUUnit]:
        try:
            unit = await self._patience.with_call(
                lambda: self._objects.get(GPU_UNITS, self._namespace, name)
            )
        except AbsentError:
            return []
        return [unit] if unit.spec.spec_name == spec_name and is_claimable(unit) else []

    async def shortage(self, spec_name: str, stock_name: str | None) -> InsufficientCapacityError:
        """What to tell a caller for whom there is nothing: what stock there is."""
        selection = Selection(fields=f"spec.specName={spec_name}", cached=True)
        page = await self._objects.list(GPU_UNITS, self._namespace, selection)
        wanted = (
            f"stock unit {stock_name!r}" if stock_name else f"ready stock of spec {spec_name!r}"
        )
        return InsufficientCapacityError(
            f"there is no {wanted} to be had; of spec {spec_name!r} there is {summary(page.items)}"
        )


def is_claimable(unit: GPUUnit) -> bool:
    """Whether the unit can be had right now."""
    meta = unit.metadata
    return (
        unit.status.phase == UnitPhase.READY
        and not is_claimed(unit)
        and meta.deletion_timestamp is None
    )


def is_claimed(unit: GPUUnit) -> bool:
    """Half a claim is one too, until the controller has released it."""
    meta = unit.metadata
    return CLAIMED_LABEL in meta.labels or CLAIM_OPERATION in meta.annotations


def summary(units: Iterable[GPUUnit]) -> str:
    """Such as `3 Progressing, 2 claimed`."""
    counts = Counter(
        "claimed" if CLAIMED_LABEL in unit.metadata.labels else unit.status.phase or "new"
        for unit in units
    )
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none"
