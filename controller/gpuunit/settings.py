"""What is the same for the workloads of all units."""

from dataclasses import dataclass

from controller.namespaces import Namespaces
from shared.invocation.queue_names import QueueNames


@dataclass(frozen=True, slots=True)
class SidecarSettings:
    """The worker beside the user's program; its requests are its limits."""

    image: str
    cpu: str
    memory: str
    queue_names: QueueNames


@dataclass(frozen=True, slots=True)
class QueuePeer:
    """The pods of the queue, as a NetworkPolicy finds them."""

    namespace: str
    app_name: str
    port: int


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """From the configuration; `private_ranges` are CIDR ranges that units may not reach."""

    namespaces: Namespaces
    pause_image: str
    cluster_domain: str
    private_ranges: tuple[str, ...]
    sidecar: SidecarSettings
    queue_peer: QueuePeer
