"""Metrics of caches: what upstream does not export and whoever hunts a frozen watch needs."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class InformerMetrics:
    """One set for all informers of a process, by resource."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.objects = Gauge(
            "informer_objects", "Objects in the cache.", ("resource",), registry=registry
        )
        self.lists = Counter(
            "informer_lists",
            "Complete lists taken from the server.",
            ("resource",),
            registry=registry,
        )
        self.watches = Counter(
            "informer_watches",
            "Watches that ended, by why.",
            ("resource", "reason"),
            registry=registry,
        )
        self.undecodable = Counter(
            "informer_unreadable",
            "Objects that the model could not hold.",
            ("resource",),
            registry=registry,
        )
        self.handler_errors = Counter(
            "informer_handler_errors",
            "Handlers that raised.",
            ("resource",),
            registry=registry,
        )
