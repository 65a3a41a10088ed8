"""Counts of units by role and phase, for health."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import msgspec

from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import Resource
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.phases import UnitPhase


class PhaseStatus(msgspec.Struct, frozen=True):
    """The one field that is counted."""

    phase: str = ""


class CountedUnit(msgspec.Struct, frozen=True):
    """The few fields of a unit that counting needs: there may be thousands."""

    metadata: ObjectMeta = ObjectMeta()
    status: PhaseStatus = PhaseStatus()


COUNTED_UNITS: Final = Resource(gpuunit.KIND, gpuunit.PLURAL, CountedUnit)


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """Counts by phase."""

    stock: dict[str, int]
    active: dict[str, int]


class UnitCounter:
    """A counter of units, which reads the cache of the API server."""

    def __init__(
        self, objects: ObjectClient, stock_namespace: str, instance_namespace: str
    ) -> None:
        self._objects = objects
        self._stock_namespace = stock_namespace
        self._instance_namespace = instance_namespace

    async def count(self) -> UnitCounts:
        """Count stock units and users' units."""
        return UnitCounts(
            await self._count_in(self._stock_namespace),
            await self._count_in(self._instance_namespace),
        )

    async def _count_in(self, namespace: str) -> dict[str, int]:
        page = await self._objects.list(COUNTED_UNITS, namespace, ListOptions(from_cache=True))
        phases = Counter(unit.status.phase or UnitPhase.PROGRESSING.value for unit in page.items)
        return dict(sorted(phases.items()))
