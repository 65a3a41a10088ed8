"""What requests may ask for, by configuration."""

from dataclasses import dataclass, field

from apiserver.config import NamespacesConfig


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bounds that are checked with the form of a request."""

    namespaces: NamespacesConfig = field(default_factory=NamespacesConfig)
    max_seed_replicas: int = 1000
    max_in_flight_bytes: int = 256 * 1024 * 1024
