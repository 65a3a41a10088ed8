"""The configuration of the result store."""

from typing import Annotated

import msgspec
from msgspec import Meta

from serverless.nats.config import QueueConfig
from shared.config.address import Address
from shared.config.duration import Duration
from shared.config.metrics_tls import MetricsTLSConfig
from shared.config.process_settings import LogLevel, MetricsAddr, ProbeAddr
from shared.invocation.queue_names import QueueNames


class NATSConfig(QueueConfig, frozen=True, kw_only=True, rename="camel"):
    """The address of NATS, and the names of its streams."""

    names: QueueNames = QueueNames()


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole configuration of one process of the result store."""

    probe_addr: ProbeAddr = Address("127.0.0.1", 8083)
    metrics_addr: MetricsAddr = Address("127.0.0.1", 8083)
    metrics_tls: MetricsTLSConfig = msgspec.field(name="metricsTLS", default=MetricsTLSConfig())
    log_level: LogLevel = "info"
    nats: NATSConfig = NATSConfig()
    dsn_file: Annotated[
        str, Meta(description="File with the address of PostgreSQL, including user and password.")
    ] = ""
    retention: Annotated[
        Duration, Meta(description="How long an outcome is kept after the end of its run.")
    ] = Duration(90 * 24 * 3600)
