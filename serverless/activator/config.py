"""The configuration of the activator."""

from typing import Annotated

import msgspec
from msgspec import Meta

from serverless.nats.config import QueueConfig
from shared.config.address import Address
from shared.config.leader_election import LeaderElectionConfig
from shared.config.metrics_tls import MetricsTLSConfig
from shared.config.namespaces import INSTANCE_NAMESPACE
from shared.config.process_settings import Kubeconfig, LogLevel, MetricsAddr, ProbeAddr
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits


class ActivatorElectionConfig(LeaderElectionConfig, frozen=True, kw_only=True, rename="camel"):
    """The leader election: the leader scales and sweeps, every replica authenticates workers."""

    name: Annotated[str, Meta(description="Name of the Lease that the leader holds.")] = (
        "gpu-runtime-activator"
    )


class NamespacesConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The only namespace that is watched."""

    instance: Annotated[str, Meta(description="Namespace of functions and their workers.")] = (
        INSTANCE_NAMESPACE
    )


class NATSConfig(QueueConfig, frozen=True, kw_only=True, rename="camel"):
    """The address of NATS for us and for workers, and its names and limits."""

    worker_url: Annotated[
        str, Meta(description="Address of NATS for workers; empty: the same as nats.url.")
    ] = msgspec.field(name="workerURL", default="")
    worker_account: Annotated[
        str, Meta(description="NATS account of the workers.", min_length=1)
    ] = "WORKERS"
    names: QueueNames = QueueNames()
    limits: StreamLimits = StreamLimits()


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole configuration of one activator process."""

    probe_addr: ProbeAddr = Address("127.0.0.1", 8082)
    metrics_addr: MetricsAddr = Address("127.0.0.1", 8082)
    metrics_tls: MetricsTLSConfig = msgspec.field(name="metricsTLS", default=MetricsTLSConfig())
    kubeconfig: Kubeconfig = ""
    log_level: LogLevel = "info"
    namespaces: NamespacesConfig = NamespacesConfig()
    leader_election: ActivatorElectionConfig = ActivatorElectionConfig()
    runtime_api_url: Annotated[
        str, Meta(description="Address of the runtime API, which creates workers.", min_length=1)
    ] = msgspec.field(name="runtimeApiURL", default="http://127.0.0.1:8080")
    runtime_api_token_file: Annotated[
        str,
        Meta(
            description="File that contains only a token with both roles of the runtime API; read "
            "before each call. Empty: requests have no token."
        ),
    ] = ""
    nats: NATSConfig = NATSConfig()
    worker_key_file: Annotated[
        str, Meta(description="File with the key from which workers' passwords are derived.")
    ] = ""
    callout_user: Annotated[
        str, Meta(description="NATS user that answers the auth callout; empty: anonymous.")
    ] = ""
    callout_password_file: Annotated[
        str, Meta(description="File with that user's password; read at each connect.")
    ] = ""
    callout_seed_file: Annotated[
        str, Meta(description="File with the account seed that signs the NATS tokens of workers.")
    ] = ""
    workers: Annotated[
        int,
        Meta(description="Number of functions that are reconciled at the same time.", ge=1, le=100),
    ] = 32
