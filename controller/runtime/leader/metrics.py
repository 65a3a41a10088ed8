"""Metrics of leader election, with the names and labels of client-go."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class LeaderMetrics:
    """The metrics of all elections of a process, by election name."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.status = Gauge(
            "leader_election_master_status",
            "1 while this process leads, 0 while it does not.",
            ("name",),
            registry=registry,
        )
        self.slow_path = Counter(
            "leader_election_slowpath",
            "Renewals by the holder that had to read the lease first.",
            ("name",),
            registry=registry,
        )
