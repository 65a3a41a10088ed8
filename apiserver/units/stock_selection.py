"""Which stock unit a new unit is made from."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterable
from random import Random
from typing import Final
from weakref import WeakValueDictionary

from apiserver.clock import Clock
from apiserver.errors import InsufficientCapacityError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import GPU_UNITS, Object
from apiserver.operations.retry import Patience
from apiserver.units.shelf import Shelf
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.wellknown import CLAIM_OPERATION, CLAIMED_LABEL

# Several replicas choose at once: from a page of this size they seldom choose the same.
PAGE: Final = 96
# What we have chosen and may not have claimed yet; fewer than a page, so that there is more.
LATELY: Final = 64
# Long enough to look a few times a second for everybody, short enough to be seldom too late.
SHELF_SECONDS: Final = 0.2


class StockChoice:
    """Finds ready stock that nobody has claimed."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        patience: Patience,
        clock: Clock,
        randomness: Random,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._patience = patience
        self._clock = clock
        self._randomness = randomness
        self._lately: deque[str] = deque(maxlen=LATELY)
        self._shelves: dict[str, Shelf] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def first(self, spec_name: str, stock_name: str | None) -> GPUUnit | None:
        """What to try first; what was seen a moment ago will do, as claiming finds out."""
        if stock_name is not None:
            return await self._named(spec_name, stock_name)
        return await self._at_hand(spec_name) or await self.another(spec_name)

    async def another(self, spec_name: str) -> GPUUnit | None:
        """What is there now, for somebody whose stock was lost; None if there is nothing."""
        found = await self._look(spec_name, cached=False)
        return self._chosen(self._randomness.choice(found)) if found else None

    async def _at_hand(self, spec_name: str) -> GPUUnit | None:
        """From the shelf, which one of those who come at once fills for all of them."""
        turn = self._turns.setdefault(spec_name, asyncio.Lock())
        async with turn:
            unit = self._from_shelf(spec_name)
            if unit is None:
                self._shelves[spec_name] = await self._filled(spec_name)
                unit = self._from_shelf(spec_name)
        return unit

    def _from_shelf(self, spec_name: str) -> GPUUnit | None:
        shelf = self._shelves.get(spec_name)
        unit = shelf.take(self._clock.monotonic()) if shelf else None
        if unit is None:
            self._shelves.pop(spec_name, None)  # names are the callers', and without end
            return None
        return self._chosen(unit)

    async def _filled(self, spec_name: str) -> Shelf:
        """What the server has at hand: a list that must be current may wait a tenth of a second."""
        found = await self._look(spec_name, cached=True)
        good_until = self._clock.monotonic() + SHELF_SECONDS
        return Shelf(found, self._randomness, good_until)

    async def _look(self, spec_name: str, *, cached: bool) -> list[GPUUnit]:
        """Stock that can be had; only if there is no other, what was chosen here lately."""
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
        return [unit for unit in found if unit.metadata.uid not in self._lately] or found

    def _chosen(self, unit: GPUUnit) -> GPUUnit:
        self._lately.append(unit.metadata.uid)
        return unit

    async def _named(self, spec_name: str, name: str) -> GPUUnit | None:
        try:
            unit = await self._patience.with_call(
                lambda: self._objects.get(GPU_UNITS, self._namespace, name)
            )
        except kube_errors.AbsentError:
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
