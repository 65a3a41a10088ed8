"""Metrics of caches, which upstream does not export; they show a watch that is stuck."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class InformerMetrics:
    """The metrics of all informers of a process, by resource."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.objects = Gauge(
            "informer_objects", "Objects in the cache.", ("resource",), registry=registry
        )
        self.lists = Counter(
            "informer_lists",
            "Complete lists received from the server.",
            ("resource",),
            registry=registry,
        )
        self.watches = Counter(
            "informer_watches",
            "Ended watches, by reason.",
            ("resource", "reason"),
            registry=registry,
        )
        self.undecodable = Counter(
            "informer_unreadable",
            "Objects that the model cannot decode.",
            ("resource",),
            registry=registry,
        )
        self.handler_errors = Counter(
            "informer_handler_errors",
            "Errors raised by handlers.",
            ("resource",),
            registry=registry,
        )
