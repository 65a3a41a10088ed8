"""Where an active unit is reached in the cluster."""

from controller.gpuunit.resources.ports import declared_ports
from controller.gpuunit.settings import UnitSettings
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit, UnitAccess
from shared.v1alpha1.template import Port


def service_url(unit: GPUUnit, settings: UnitSettings) -> str:
    """The address of the primary port; empty where there is none."""
    access = unit.spec.access or UnitAccess()
    port = _primary_port(declared_ports(unit), access.primary_port)
    if port is None:
        return ""
    name, namespace = names.unit_child_name(unit.metadata.name), unit.metadata.namespace
    return f"{access.scheme}://{name}.{namespace}.svc.{settings.cluster_domain}:{port.port}"


def _primary_port(ports: tuple[Port, ...], name: str) -> Port | None:
    return next((port for port in ports if name in ("", port.name)), None)
