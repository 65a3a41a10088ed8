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
from shared.v1alpha1.unit_resources import DEFAULT_GPU_RESOURCE, Toleration

KubeMode = Literal["auto", "off", "required"]


class NATSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The addresses and credentials of the queue."""

    url: Annotated[
        str, Meta(description="Address of the queue, as in nats://127.0.0.1:4222; empty: none.")
    ] = ""
    user: Annotated[str, Meta(description="User name at the queue; empty: anonymous.")] = ""
    password_file: Annotated[
        str, Meta(description="File that holds the user's password; read at each connect.")
    ] = ""
    names: QueueNames = QueueNames()
    limits: StreamLimits = StreamLimits()


class ResultStoreConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The archive of outcomes, which keeps them after the retention of the queue."""

    dsn_file: Annotated[
        str,
        Meta(
            description="File that holds the read-only address of PostgreSQL; empty: only the "
            "queue's own records are shown."
        ),
    ] = ""


class AuthConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The callers that may use the API."""

    tokens_file: Annotated[
        str,
        Meta(
            description="File of tokens, a line each: operator or tenant-control-plane, a blank, "
            "the token. Followed when it changes; empty: nobody is asked for a token."
        ),
    ] = ""
    allow_anonymous: Annotated[
        bool,
        Meta(
            description="Without a file of tokens, listen also where other machines can call: "
            "something in front decides who may."
        ),
    ] = False


class NamespacesConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The namespaces that the API uses; it uses no others."""

    stock: Annotated[str, Meta(description="Where reservations are.")] = STOCK_NAMESPACE
    instance: Annotated[str, Meta(description="Where users' units and storages are.")] = (
        INSTANCE_NAMESPACE
    )
    system: Annotated[str, Meta(description="Where the records of operations are.")] = (
        SYSTEM_NAMESPACE
    )


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

    http_addr: Annotated[Address, Meta(description="Where the API listens.")] = Address(
        "127.0.0.1", 8080
    )
    kube_mode: Annotated[
        KubeMode,
        Meta(
            description="required: start only with a cluster; auto: start without, and say so in "
            "health; off: never connect."
        ),
    ] = "required"
    kubeconfig: Kubeconfig = ""
    report_interval: Annotated[
        Duration, Meta(description="How often the status report is logged.")
    ] = Duration(60)
    log_level: LogLevel = "info"
    request_timeout: Annotated[
        Duration, Meta(description="How long a request may take once it was received.")
    ] = Duration(30)
    # The operation lists every unit in some 170 bytes, and etcd accepts objects of up to 1.5 MiB.
    max_seed_replicas: Annotated[
        int,
        Meta(description="How many stock units one request may seed.", ge=1, le=5_000),
    ] = 1000
    max_in_flight_bytes: Annotated[
        int,
        Meta(description="Bytes of raw payloads that are received at once.", ge=1),
    ] = 256 * 1024 * 1024
    auth: AuthConfig = AuthConfig()
    namespaces: NamespacesConfig = NamespacesConfig()
    specs: Annotated[
        dict[str, SpecConfig],
        Meta(
            description="The catalogue: machine specs by name, each with memory and, where wanted, "
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
