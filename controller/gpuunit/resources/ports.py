"""The ports of a unit."""

from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.template import Port


def declared_ports(unit: GPUUnit) -> tuple[Port, ...]:
    """What the user's program listens on."""
    return () if unit.spec.template is None else unit.spec.template.ports
