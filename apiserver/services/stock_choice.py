"""Which stock unit a new unit is made from."""

from collections import Counter, deque
from collections.abc import Iterable
from random import Random
from typing import Final

from apiserver.errors import InsufficientCapacityError
from apiserver.gateway import AbsentError, Objects, Selection
from apiserver.resources import GPU_UNITS, Object
from apiserver.services.patience import Patience
from shared.phases import UnitPhase
from shared.v1alpha1.gpuunit import GPUUnit
from shared.wellknown import CLAIM_OPERATION, CLAIMED_LABEL

# Many choose at once: from a page of this size they seldom choose the same.
PAGE: Final = 24
# What we have chosen and may not have claimed yet; fewer than a page, so that there is more.
LATELY: Final = 16


class StockChoice:
    """Finds ready stock that nobody has claimed."""

    def __init__(
        self, objects: Objects, namespace: str, patience: Patience, randomness: Random
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._patience = patience
        self._randomness = randomness
        self._lately: deque[str] = deque(maxlen=LATELY)

    async def first(self, spec_name: str, stock_name: str | None) -> GPUUnit | None:
        """What to try first; what the server has at hand will do, as claiming finds out.

        A list that must be current waits for up to a tenth of a second where others write.
        """
        if stock_name is not None:
            return await self._named(spec_name, stock_name)
        at_hand = await self._any(spec_name, cached=True)
        return at_hand or await self.another(spec_name)

    async def another(self, spec_name: str) -> GPUUnit | None:
        """What is there now, for somebody whose stock was lost; None if there is nothing."""
        return await self._any(spec_name, cached=False)

    async def _any(self, spec_name: str, *, cached: bool) -> GPUUnit | None:
        """One at random, so that concurrent requests spread; last what was chosen here lately."""
        selection = Selection(
            labels=f"!{CLAIMED_LABEL}",
            fields=f"spec.specName={spec_name},status.phase={UnitPhase.READY.value}",
            limit=PAGE,
            cached=cached,
        )
        page = await self._patience.with_call(
            lambda: self._objects.list(GPU_UNITS, self._namespace, selection)
        )
        found = [unit for unit in page.items if is_claimable(unit)]
        fresh = [unit for unit in found if unit.metadata.uid not in self._lately]
        if not found:
            return None
        chosen = self._randomness.choice(fresh or found)
        self._lately.append(chosen.metadata.uid)
        return chosen

    async def _named(self, spec_name: str, name: str) -> GPUUnit | None:
        try:
            unit = await self._patience.with_call(
                lambda: self._objects.get(GPU_UNITS, self._namespace, name)
            )
        except AbsentError:
            return None
        return unit if unit.spec.spec_name == spec_name and is_claimable(unit) else None

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


def is_claimed(unit: Object) -> bool:
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
