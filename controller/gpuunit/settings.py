"""Settings common to the workloads of all units."""

from dataclasses import dataclass

from controller.namespaces import Namespaces
from shared.invocation.queue_names import QueueNames


@dataclass(frozen=True, slots=True)
class SidecarSettings:
    """Settings of the worker beside the user's program; its requests equal its limits."""

    image: str
    cpu: str
    memory: str
    queue_names: QueueNames


@dataclass(frozen=True, slots=True)
class QueuePeer:
    """Selector of the NATS pods for a NetworkPolicy."""

    namespace: str
    app_name: str
    port: int


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """Settings from the configuration; `private_ranges` are CIDR ranges that units may not use."""

    namespaces: Namespaces
    pause_image: str
    cluster_domain: str
    private_ranges: tuple[str, ...]
    sidecar: SidecarSettings
    queue_peer: QueuePeer
