"""Caches of the controller that no manager runs."""

from random import Random

from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.namespaces import Namespaces
from controller.runtime import Clock, InformerMetrics, ListerWatcher
from controller.runtime.cache.shared_caches import SharedCaches


class UnstartedCaches(Caches):
    """Empty caches of all kinds, and their informers."""

    def __init__(self, source: ListerWatcher, namespaces: Namespaces, clock: Clock) -> None:
        metrics = InformerMetrics(CollectorRegistry())
        self.shared_caches = SharedCaches(source, namespaces.units, metrics, clock, Random(7))
        self.informers = self.shared_caches.informers
        super().__init__(self.shared_caches, namespaces)
