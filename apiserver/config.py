"""The configuration of the API, with its defaults."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shared.config.address import Address
from shared.config.duration import Duration
from shared.config.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from shared.config.process_settings import Kubeconfig, LogLevel
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits
from shared.k8s.pod import Toleration
from shared.v1alpha1.unit_resources import DEFAULT_GPU_RESOURCE

KubeMode = Literal["auto", "off", "required"]


class NATSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The address and the credentials of NATS."""

    url: Annotated[
        str, Meta(description="Address of NATS, such as nats://127.0.0.1:4222; empty: no queue.")
    ] = ""
    user: Annotated[str, Meta(description="User name for NATS; empty: anonymous.")] = ""
    password_file: Annotated[
        str, Meta(description="File with the user's password; read at every connect.")
    ] = ""
    names: QueueNames = QueueNames()
    limits: StreamLimits = StreamLimits()


class ResultStoreConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The archive of outcomes, which keeps them after the retention of the queue."""

    dsn_file: Annotated[
        str,
        Meta(
            description="File with the address of PostgreSQL for a read-only user; empty: the API "
            "shows only the records in the queue."
        ),
    ] = ""


class AuthConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The callers that may use the API."""

    tokens_file: Annotated[
        str,
        Meta(
            description="File of tokens. A line is a role (operator or tenant-control-plane), a "
            "blank and a token. Reloaded when it changes; empty: no token is required."
        ),
    ] = ""
    allow_anonymous: Annotated[
        bool,
        Meta(
            description="Accept callers from other machines without a token: set it only if a "
            "proxy authenticates them."
        ),
    ] = False


class NamespacesConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The namespaces that the API uses; it uses no others."""

    stock: Annotated[str, Meta(description="Namespace of stock units.")] = STOCK_NAMESPACE
    instance: Annotated[
        str, Meta(description="Namespace of active units, storages and functions.")
    ] = INSTANCE_NAMESPACE
    system: Annotated[str, Meta(description="Namespace of operations.")] = SYSTEM_NAMESPACE


class SpecConfig(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """One machine spec of the catalogue."""

    memory: str
    cpu: str = ""
    gpu: int = 0
    gpu_resource: str = DEFAULT_GPU_RESOURCE
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    shm_size: str = ""
    description: str = ""


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole configuration of one API process."""

    http_addr: Annotated[Address, Meta(description="Address on which the API listens.")] = Address(
        "127.0.0.1", 8080
    )
    kube_mode: Annotated[
        KubeMode,
        Meta(
            description="required: exit if no cluster is connected at the start; auto: start "
            "without a cluster, and report it in health; off: never connect to a cluster."
        ),
    ] = "required"
    kubeconfig: Kubeconfig = ""
    report_interval: Annotated[
        Duration, Meta(description="Interval of the status report in the log.")
    ] = Duration(60)
    log_level: LogLevel = "info"
    request_timeout: Annotated[
        Duration, Meta(description="Time limit of a request after its body was received.")
    ] = Duration(30)
    # The operation lists every unit in some 170 bytes, and etcd accepts objects of up to 1.5 MiB.
    max_seed_replicas: Annotated[
        int,
        Meta(description="Maximum of stock units that one request can seed.", ge=1, le=5_000),
    ] = 1000
    max_in_flight_bytes: Annotated[
        int,
        Meta(description="Maximum of raw payload bytes received at the same time.", ge=1),
    ] = 256 * 1024 * 1024
    auth: AuthConfig = AuthConfig()
    namespaces: NamespacesConfig = NamespacesConfig()
    specs: Annotated[
        dict[str, SpecConfig],
        Meta(
            description="The catalogue: machine specs by name, each with memory and, optionally, "
            "cpu, gpu, gpuResource, nodeSelector, tolerations, shmSize, description."
        ),
    ] = {}
    nats: NATSConfig = NATSConfig()
    result_store: ResultStoreConfig = ResultStoreConfig()


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The configured limits of requests."""

    namespaces: NamespacesConfig = field(default_factory=NamespacesConfig)
    max_seed_replicas: int = 1000
    max_in_flight_bytes: int = 256 * 1024 * 1024
