"""NetworkPolicies of a storage's pods."""

from typing import Any

from controller.apply.egress import dns_egress_rule, public_egress_rule
from controller.gpustorage.labels import StorageComponent, child_metadata, pod_selector
from controller.gpustorage.settings import StorageSettings
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage


def prepare_network_policy_manifest(
    storage: GPUStorage, settings: StorageSettings
) -> dict[str, Any]:
    """Allow nothing in; allow DNS and public addresses out, as for units."""
    rules = {"egress": [dns_egress_rule(), public_egress_rule(settings.private_ranges)]}
    return _network_policy_manifest(
        storage, names.prepare_job_name(storage.metadata.name), StorageComponent.PREPARE, rules
    )


def accessor_network_policy_manifest(storage: GPUStorage, port: int) -> dict[str, Any]:
    """Allow the port of the file server in; allow only DNS out."""
    ingress = [{"ports": [{"protocol": "TCP", "port": port}]}]
    rules = {"ingress": ingress, "egress": [dns_egress_rule()]}
    return _network_policy_manifest(
        storage, names.accessor_name(storage.metadata.name), StorageComponent.ACCESSOR, rules
    )


def _network_policy_manifest(
    storage: GPUStorage, name: str, component: StorageComponent, rules: dict[str, Any]
) -> dict[str, Any]:
    return {
        "metadata": child_metadata(storage, name, component),
        "spec": {
            "podSelector": {"matchLabels": pod_selector(storage, component)},
            "policyTypes": ["Ingress", "Egress"],
            **rules,
        },
    }
