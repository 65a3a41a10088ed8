"""Selects the stock unit for a new unit."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterable
from random import Random
from typing import Final
from weakref import WeakValueDictionary

from apiserver.errors import InsufficientCapacityError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.retry import Retry
from shared.clock import Clock
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.wellknown import CLAIMED_LABEL

# Replicas choose at random: from a page of this size they seldom choose the same.
PAGE_SIZE: Final = 96
# Chosen here and perhaps not claimed yet; fewer than a page, so that some are left.
MAX_RECENT: Final = 64
# Long enough to list a few times a second at most, short enough to be seldom out of date.
CANDIDATES_TTL_SECONDS: Final = 0.2


class StockCandidates:
    """Shuffled stock from one list call; each unit is returned once."""

    def __init__(self, units: Iterable[GPUUnit], rng: Random, expires_at: float) -> None:
        self._units = list(units)
        rng.shuffle(self._units)
        self._expires_at = expires_at

    def take(self, now: float) -> GPUUnit | None:
        """Return a unit that was not returned yet; None without one, or if the list is too old."""
        return self._units.pop() if self._units and now < self._expires_at else None


class StockSelector:
    """Finds ready stock that is not claimed."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        retry: Retry,
        clock: Clock,
        rng: Random,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._retry = retry
        self._clock = clock
        self._rng = rng
        self._recent_uids: deque[str] = deque(maxlen=MAX_RECENT)
        self._candidates: dict[str, StockCandidates] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def select(self, spec_name: str, stock_name: str | None) -> GPUUnit | None:
        """Return stock to claim, from a list that may be 200 ms old; None if there is none."""
        if stock_name is not None:
            return await self._find_named(spec_name, stock_name)
        return await self._select_candidate(spec_name) or await self.select_another(spec_name)

    async def select_another(self, spec_name: str) -> GPUUnit | None:
        """Return stock from a fresh list, after a stock claim was lost; None if there is none."""
        claimable = await self._list_claimable(spec_name, cached=False)
        return self._remember(self._rng.choice(claimable)) if claimable else None

    async def _select_candidate(self, spec_name: str) -> GPUUnit | None:
        """Take a candidate; of concurrent requests one lists the stock for all."""
        lock = self._locks.setdefault(spec_name, asyncio.Lock())
        async with lock:
            unit = self._take_candidate(spec_name)
            if unit is None:
                self._candidates[spec_name] = await self._fetch_candidates(spec_name)
                unit = self._take_candidate(spec_name)
        return unit

    def _take_candidate(self, spec_name: str) -> GPUUnit | None:
        candidates = self._candidates.get(spec_name)
        unit = candidates.take(self._clock.monotonic()) if candidates else None
        if unit is None:
            self._candidates.pop(spec_name, None)  # callers choose the names: do not keep them
            return None
        return self._remember(unit)

    async def _fetch_candidates(self, spec_name: str) -> StockCandidates:
        """List from the cache of the API server, which saves up to a tenth of a second."""
        claimable = await self._list_claimable(spec_name, cached=True)
        expires_at = self._clock.monotonic() + CANDIDATES_TTL_SECONDS
        return StockCandidates(claimable, self._rng, expires_at)

    async def _list_claimable(self, spec_name: str, *, cached: bool) -> list[GPUUnit]:
        """Return claimable stock; recently chosen units only if there are no others."""
        selection = ListOptions(
            label_selector=f"!{CLAIMED_LABEL}",
            field_selector=f"spec.specName={spec_name},status.phase={UnitPhase.READY.value}",
            limit=PAGE_SIZE,
            from_cache=cached,
        )
        page = await self._retry.call(
            lambda: self._objects.list(GPU_UNITS, self._namespace, selection)
        )
        units = [unit for unit in page.items if is_claimable(unit)]
        return [unit for unit in units if unit.metadata.uid not in self._recent_uids] or units

    def _remember(self, unit: GPUUnit) -> GPUUnit:
        self._recent_uids.append(unit.metadata.uid)
        return unit

    async def _find_named(self, spec_name: str, name: str) -> GPUUnit | None:
        try:
            unit = await self._retry.call(
                lambda: self._objects.get(GPU_UNITS, self._namespace, name)
            )
        except kube_errors.NotFoundError:
            return None
        return unit if unit.spec.spec_name == spec_name and is_claimable(unit) else None

    async def shortage_error(
        self, spec_name: str, stock_name: str | None
    ) -> InsufficientCapacityError:
        """Return the error for missing stock, with the counts of the existing stock."""
        selection = ListOptions(field_selector=f"spec.specName={spec_name}", from_cache=True)
        page = await self._objects.list(GPU_UNITS, self._namespace, selection)
        shortage = (
            f"stock unit {stock_name!r}" if stock_name else f"ready stock of spec {spec_name!r}"
        )
        return InsufficientCapacityError(
            f"no {shortage} is available; stock of spec {spec_name!r}: {describe_stock(page.items)}"
        )


def is_claimable(unit: GPUUnit) -> bool:
    """Return whether the unit is ready, unclaimed and not being deleted."""
    meta = unit.metadata
    return (
        unit.status.phase == UnitPhase.READY
        and not is_claimed(unit)
        and meta.deletion_timestamp is None
    )


def describe_stock(units: Iterable[GPUUnit]) -> str:
    """Return a text such as `3 Progressing, 2 claimed`."""
    counts = Counter(
        "claimed" if CLAIMED_LABEL in unit.metadata.labels else unit.status.phase or "new"
        for unit in units
    )
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none"
