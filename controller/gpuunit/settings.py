"""What is the same for the workloads of all units."""

from dataclasses import dataclass

from controller.namespaces import Namespaces


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """From the configuration; `private_ranges` are CIDR ranges that units may not reach."""

    namespaces: Namespaces
    pause_image: str
    cluster_domain: str
    private_ranges: tuple[str, ...]
