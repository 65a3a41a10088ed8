"""All of the queue behind its ports, on one connection."""

from collections.abc import Callable

from apiserver.circuit_breaker import Breaker
from apiserver.clock import Clock
from apiserver.config import NATSConfig
from apiserver.nats.calls import CallStream, OutcomeStreams
from apiserver.nats.connection import QueueConnection
from apiserver.nats.history import StreamHistory
from apiserver.nats.object_store import BodyBuckets
from apiserver.nats.port import BodyStore, Queue, Wakes
from apiserver.nats.record_changes import RecordWakes
from apiserver.nats.records import RecordBucket
from apiserver.nats.requests import Caller
from apiserver.nats.stream_setup import Layout
from shared.invocation.queue_names import QueueNames


class JetStream:
    """The connection, what runs on it, and the ports of the queue."""

    def __init__(self, config: NATSConfig, clock: Clock, make_id: Callable[[], str]) -> None:
        self.connection = QueueConnection(config, clock)
        names, limits = config.names, config.limits
        caller = Caller(self.connection, Breaker(clock))
        self.layout = Layout(self.connection, caller, names, limits, clock)
        self.wakes = RecordWakes(self.connection, names)
        bodies = BodyBuckets(caller, names, limits, make_id, clock.now)
        self.queue = queue_on(caller, names, bodies, self.wakes)


def queue_on(caller: Caller, names: QueueNames, bodies: BodyStore, wakes: Wakes) -> Queue:
    """The ports of the queue, of which all but the wakes go by that caller."""
    return Queue(
        records=RecordBucket(caller, names),
        calls=CallStream(caller, names),
        outcomes=OutcomeStreams(caller, names),
        bodies=bodies,
        history=StreamHistory(caller, names),
        wakes=wakes,
    )
