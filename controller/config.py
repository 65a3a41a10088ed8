"""Configuration keys of the controller, with their defaults."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.config.address import Address
from shared.config.duration import Duration
from shared.config.leader_election import LeaderElectionConfig
from shared.config.metrics_tls import MetricsTLSConfig
from shared.config.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from shared.config.process_settings import Kubeconfig, LogLevel, MetricsAddr, ProbeAddr
from shared.config.version import product_version
from shared.invocation.queue_names import QueueNames


class NamespacesConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Watched namespaces; the controller watches no others."""

    stock: Annotated[str, Meta(description="The namespace of stock units.")] = STOCK_NAMESPACE
    instance: Annotated[str, Meta(description="The namespace of users' units and storages.")] = (
        INSTANCE_NAMESPACE
    )
    system: Annotated[str, Meta(description="The namespace of Operation objects.")] = (
        SYSTEM_NAMESPACE
    )


class UnitsConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Settings common to the workloads of all units."""

    pause_image: Annotated[
        str, Meta(description="The image of stock units: it does nothing and stops at once.")
    ] = "registry.k8s.io/pause:3.10.1"
    cluster_domain: Annotated[
        str, Meta(description="The DNS domain of the cluster's Services, for access URLs.")
    ] = "cluster.local"
    private_ranges: Annotated[
        tuple[str, ...],
        Meta(description="Addresses that units cannot connect to, as CIDR ranges."),
    ] = (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
        "fe80::/10",
    )
    workers: Annotated[
        int, Meta(description="How many units are reconciled at the same time.", ge=1, le=100)
    ] = 16


class StorageConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Settings common to all storages."""

    default_class: Annotated[
        str,
        Meta(description="The StorageClass of storages without one; empty: the cluster's default."),
    ] = ""
    prepare_deadline: Annotated[
        Duration, Meta(description="The time limit of a prepare Job; must be whole seconds.")
    ] = Duration(3600)
    copy_image: Annotated[
        str, Meta(description="The image that copies storages; must contain `cp`.")
    ] = "docker.io/library/busybox:1.37"
    accessor_image: Annotated[
        str, Meta(description="The image of accessors; must contain `python`.")
    ] = "docker.io/library/python:3.14-alpine"
    workers: Annotated[
        int, Meta(description="How many storages are reconciled at the same time.", ge=1, le=100)
    ] = 8


class SidecarConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Worker sidecar of a serverless unit."""

    image: Annotated[
        str,
        Meta(
            description="The image of workers, of the same release. A new image alone restarts no "
            "pod: it is applied with the next change that does.",
            min_length=1,
        ),
    ] = f"gpu-runtime/worker:{product_version()}"
    cpu: Annotated[
        str, Meta(description="The CPU of a worker, in addition to that of its unit.")
    ] = "100m"
    memory: Annotated[
        str,
        Meta(
            description="The memory of a worker, enough for two bodies of 64 MiB. For hundreds of "
            "concurrent invocations with payloads of 256 KiB, add 1Mi for each."
        ),
    ] = "256Mi"


class NATSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """NATS address for the workers; the controller itself never connects to it."""

    namespace: Annotated[
        str, Meta(description="The namespace of the NATS pods, for NetworkPolicies.")
    ] = SYSTEM_NAMESPACE
    app_name: Annotated[
        str, Meta(description="The label app.kubernetes.io/name of the NATS pods.")
    ] = "nats"
    port: Annotated[int, Meta(description="The port of NATS.", ge=1, le=65535)] = 4222
    names: QueueNames = QueueNames()


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whole configuration of one controller process."""

    probe_addr: ProbeAddr = Address("127.0.0.1", 8081)
    metrics_addr: MetricsAddr = Address("127.0.0.1", 8081)
    metrics_tls: MetricsTLSConfig = msgspec.field(name="metricsTLS", default=MetricsTLSConfig())
    kubeconfig: Kubeconfig = ""
    log_level: LogLevel = "info"
    namespaces: NamespacesConfig = NamespacesConfig()
    leader_election: LeaderElectionConfig = LeaderElectionConfig()
    units: UnitsConfig = UnitsConfig()
    storage: StorageConfig = StorageConfig()
    sidecar: SidecarConfig = SidecarConfig()
    nats: NATSConfig = NATSConfig()
    operation_retention: Annotated[
        Duration, Meta(description="How long a finished operation is kept for replays.")
    ] = Duration(86400)
