"""Service of a unit, and the URL under which it is reached."""

from typing import Any

from controller.gpuunit.labels import child_metadata, pod_selector
from controller.gpuunit.resources.pod import declared_ports
from controller.gpuunit.settings import UnitSettings
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit, UnitAccess
from shared.v1alpha1.template import Port


def service_manifest(unit: GPUUnit) -> dict[str, Any] | None:
    """Build the Service of all declared ports; None without ports."""
    if not declared_ports(unit):
        return None
    return {
        "metadata": child_metadata(unit, names.unit_child_name(unit.metadata.name)),
        "spec": {
            "type": "ClusterIP",
            "selector": pod_selector(unit),
            "ports": [_service_port(port) for port in declared_ports(unit)],
        },
    }


def _service_port(port: Port) -> dict[str, Any]:
    return {
        "name": port.name,
        "port": port.port,
        "targetPort": port.port,
        "protocol": port.protocol,
    }


def service_url(unit: GPUUnit, settings: UnitSettings) -> str:
    """Return the URL of the primary port; empty without such a port."""
    access = unit.spec.access or UnitAccess()
    port = _primary_port(declared_ports(unit), access.primary_port)
    if port is None:
        return ""
    name, namespace = names.unit_child_name(unit.metadata.name), unit.metadata.namespace
    return f"{access.scheme}://{name}.{namespace}.svc.{settings.cluster_domain}:{port.port}"


def _primary_port(ports: tuple[Port, ...], name: str) -> Port | None:
    return next((port for port in ports if name in ("", port.name)), None)
