"""The composition of the queue: its connection, background work and ports."""

from collections.abc import Callable

from apiserver.circuit_breaker import CircuitBreaker
from apiserver.config import NATSConfig
from apiserver.nats.calls import JetStreamCallQueue, JetStreamOutcomeStream
from apiserver.nats.connection import QueueConnection
from apiserver.nats.history import JetStreamHistory
from apiserver.nats.object_store import JetStreamBodyStore
from apiserver.nats.port import BodyStore, QueuePorts, RecordChanges
from apiserver.nats.record_changes import JetStreamRecordChanges
from apiserver.nats.records import JetStreamRecordStore
from apiserver.nats.requests import JetStreamRequests
from apiserver.nats.stream_setup import StreamSetup
from shared.clock import Clock
from shared.invocation.queue_names import QueueNames


class JetStream:
    """The connection to NATS, the work that runs on it, and the ports of the queue."""

    def __init__(self, config: NATSConfig, clock: Clock, make_id: Callable[[], str]) -> None:
        self.connection = QueueConnection(config, clock)
        names, limits = config.names, config.limits
        requests = JetStreamRequests(self.connection, CircuitBreaker(clock))
        self.stream_setup = StreamSetup(self.connection, requests, names, limits, clock)
        self.record_changes = JetStreamRecordChanges(self.connection, names)
        bodies = JetStreamBodyStore(requests, names, limits, make_id, clock.now)
        self.ports = create_ports(requests, names, bodies, self.record_changes)


def create_ports(
    requests: JetStreamRequests, names: QueueNames, bodies: BodyStore, record_changes: RecordChanges
) -> QueuePorts:
    """Create the ports; all but the record changes send their requests through `requests`."""
    return QueuePorts(
        records=JetStreamRecordStore(requests, names),
        calls=JetStreamCallQueue(requests, names),
        outcomes=JetStreamOutcomeStream(requests, names),
        bodies=bodies,
        history=JetStreamHistory(requests, names),
        record_changes=record_changes,
    )
