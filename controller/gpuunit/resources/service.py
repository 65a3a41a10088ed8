"""The Service of a unit."""

from typing import Any

from controller.gpuunit.labels import child_metadata, selector
from controller.gpuunit.resources.ports import ports
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.template import Port


def service(unit: GPUUnit) -> dict[str, Any] | None:
    """An address in the cluster for all ports of an active unit; None without ports."""
    if not ports(unit):
        return None
    return {
        "metadata": child_metadata(unit, names.unit_child(unit.metadata.name)),
        "spec": {
            "type": "ClusterIP",
            "selector": selector(unit),
            "ports": [_port(port) for port in ports(unit)],
        },
    }


def _port(port: Port) -> dict[str, Any]:
    return {
        "name": port.name,
        "port": port.port,
        "targetPort": port.port,
        "protocol": port.protocol,
    }
