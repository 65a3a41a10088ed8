"""The NetworkPolicies of a storage: whom its pods may talk with."""

from typing import Any

from controller.apply.egress import dns, public_addresses
from controller.gpustorage.labels import Part, child_metadata, selector
from controller.gpustorage.settings import StorageSettings
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage


def prepare_policy(storage: GPUStorage, settings: StorageSettings) -> dict[str, Any]:
    """Nothing in; DNS and public addresses out, as for units."""
    rules = {"egress": [dns(), public_addresses(settings.private_ranges)]}
    return _policy(storage, names.prepare_job(storage.metadata.name), Part.PREPARE, rules)


def accessor_policy(storage: GPUStorage, port: int) -> dict[str, Any]:
    """The port that is browsed in; nothing but DNS out."""
    ingress = [{"ports": [{"protocol": "TCP", "port": port}]}]
    rules = {"ingress": ingress, "egress": [dns()]}
    return _policy(storage, names.accessor(storage.metadata.name), Part.ACCESSOR, rules)


def _policy(storage: GPUStorage, name: str, part: Part, rules: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": child_metadata(storage, name, part),
        "spec": {
            "podSelector": {"matchLabels": selector(storage, part)},
            "policyTypes": ["Ingress", "Egress"],
            **rules,
        },
    }
