"""Prometheus metric of the number of units by role, spec and phase."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.namespaces import Namespaces
from controller.runtime import Cache, key_of
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase

METRIC_NAME: Final = "gpuruntime_units"


class UnitCountCollector(Collector):
    """Collector that counts the cache at each scrape.

    Only the leader reports, because replicas would count twice.
    """

    def __init__(
        self, units: Cache[GPUUnit], namespaces: Namespaces, is_leader: Callable[[], bool]
    ) -> None:
        self._units = units
        self._namespaces = namespaces
        self._is_leader = is_leader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        labels = ["role", "spec", "phase"]
        family = GaugeMetricFamily(METRIC_NAME, "Units by role, spec and phase.", labels=labels)
        for count in self._counts().items():
            family.add_metric(*count)
        yield family

    def _counts(self) -> Counter[tuple[str, str, str]]:
        if not self._is_leader():
            return Counter()
        return Counter(map(self._labels_of, self._units.all()))

    def _labels_of(self, unit: GPUUnit) -> tuple[str, str, str]:
        role = "stock" if self._namespaces.is_stock(key_of(unit)) else "active"
        return role, unit.spec.spec_name, unit.status.phase or UnitPhase.PROGRESSING.value
