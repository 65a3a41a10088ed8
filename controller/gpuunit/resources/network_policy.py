"""The NetworkPolicy of a unit: whom it may talk with."""

from typing import Any, Final

from controller.apply.drop_empty import non_empty
from controller.apply.egress import dns, public_addresses
from controller.gpuunit.labels import child_metadata, selector
from controller.gpuunit.resources.ports import ports
from controller.gpuunit.settings import QueueTarget, UnitSettings
from controller.runtime.client.kind import key_of
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.validation.serverless import WORKER_PORT

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
MONITORING: Final = "monitoring"


def network_policy(unit: GPUUnit, settings: UnitSettings) -> dict[str, Any]:
    """Nothing in or out for stock; declared ports in, DNS and public addresses out for others."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    rules = {} if is_stock else _active_rules(unit, settings)
    return {
        "metadata": child_metadata(unit, names.egress(unit.metadata.name)),
        "spec": {
            "podSelector": {"matchLabels": selector(unit)},
            "policyTypes": ["Ingress", "Egress"],
            **rules,
        },
    }


def _active_rules(unit: GPUUnit, settings: UnitSettings) -> dict[str, Any]:
    declared = [{"protocol": port.protocol, "port": port.port} for port in ports(unit)]
    ingress = [{"ports": declared}] if declared else []  # a rule without ports allows them all
    egress = [dns(), public_addresses(settings.private_ranges)]
    if unit.spec.serverless is not None:
        ingress.append(_metrics())
        egress.append(_queue(settings.queue))
    return non_empty({"ingress": ingress, "egress": egress})


def _metrics() -> dict[str, Any]:
    """What the worker has counted is collected from where the manifests expect Prometheus."""
    collectors = {"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: MONITORING}}}
    return {"from": [collectors], "ports": [{"protocol": "TCP", "port": WORKER_PORT}]}


def _queue(target: QueueTarget) -> dict[str, Any]:
    """The worker's way to the queue; the user's program shares it, but has no credentials."""
    peer = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: target.namespace}},
        "podSelector": {"matchLabels": {wellknown.APP_NAME_LABEL: target.app_name}},
    }
    return {"to": [peer], "ports": [{"protocol": "TCP", "port": target.port}]}
