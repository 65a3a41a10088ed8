"""NetworkPolicy of a unit."""

from typing import Any, Final

from controller.apply.drop_empty import drop_empty
from controller.apply.egress import dns_egress_rule, public_egress_rule
from controller.gpuunit.labels import child_metadata, pod_selector
from controller.gpuunit.resources.pod import declared_ports
from controller.gpuunit.settings import QueuePeer, UnitSettings
from controller.runtime import key_of
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.validation.serverless import WORKER_PORT

NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
MONITORING_NAMESPACE: Final = "monitoring"


def network_policy_manifest(unit: GPUUnit, settings: UnitSettings) -> dict[str, Any]:
    """Allow declared ports in, DNS and public addresses out; nothing at all for stock."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    rules = {} if is_stock else _active_rules(unit, settings)
    return {
        "metadata": child_metadata(unit, names.egress_policy_name(unit.metadata.name)),
        "spec": {
            "podSelector": {"matchLabels": pod_selector(unit)},
            "policyTypes": ["Ingress", "Egress"],
            **rules,
        },
    }


def _active_rules(unit: GPUUnit, settings: UnitSettings) -> dict[str, Any]:
    declared = [{"protocol": port.protocol, "port": port.port} for port in declared_ports(unit)]
    ingress = [{"ports": declared}] if declared else []  # a rule without ports allows them all
    egress = [dns_egress_rule(), public_egress_rule(settings.private_ranges)]
    if unit.spec.serverless is not None:
        ingress.append(_metrics_ingress_rule())
        egress.append(_queue_egress_rule(settings.queue_peer))
    return drop_empty({"ingress": ingress, "egress": egress})


def _metrics_ingress_rule() -> dict[str, Any]:
    """Let Prometheus collect the worker's metrics, from the namespace that the manifests use."""
    collectors = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: MONITORING_NAMESPACE}}
    }
    return {"from": [collectors], "ports": [{"protocol": "TCP", "port": WORKER_PORT}]}


def _queue_egress_rule(queue_peer: QueuePeer) -> dict[str, Any]:
    """Let the pod reach NATS; only the worker in it has credentials."""
    peer = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: queue_peer.namespace}},
        "podSelector": {"matchLabels": {wellknown.APP_NAME_LABEL: queue_peer.app_name}},
    }
    return {"to": [peer], "ports": [{"protocol": "TCP", "port": queue_peer.port}]}
