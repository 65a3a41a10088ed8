"""Tests of the NetworkPolicy: of the cluster, a unit reaches only DNS; only its ports are open."""

from dataclasses import replace

from controller.gpuunit.labels import child_metadata
from controller.gpuunit.resources.network_policy import network_policy_manifest
from tests.support.builders.gpu_units import FULL_SPEC, STOCK_NAMESPACE, new_unit, unit_settings

DNS = {
    "to": [
        {"namespaceSelector": {}},
        {"ipBlock": {"cidr": "169.254.20.10/32"}},
        {"ipBlock": {"cidr": "169.254.25.10/32"}},
    ],
    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
}
PUBLIC = {
    "to": [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "169.254.0.0/16"]}},
        {"ipBlock": {"cidr": "::/0", "except": ["fc00::/7"]}},
    ]
}
BASE_POLICY = {
    "podSelector": {"matchLabels": {"runtime.lokiwager.io/unit": "one"}},
    "policyTypes": ["Ingress", "Egress"],
}


def test_stock_has_no_network_access() -> None:
    stock = new_unit(namespace=STOCK_NAMESPACE, **FULL_SPEC)
    assert network_policy_manifest(stock, unit_settings()) == {
        "metadata": child_metadata(stock, "egress-one"),
        "spec": BASE_POLICY,
    }


def test_an_active_unit_is_reached_on_its_ports_and_reaches_public_addresses() -> None:
    declared = [{"protocol": "TCP", "port": 8000}, {"protocol": "UDP", "port": 9000}]
    assert network_policy_manifest(new_unit(**FULL_SPEC), unit_settings())["spec"] == {
        **BASE_POLICY,
        "ingress": [{"ports": declared}],
        "egress": [DNS, PUBLIC],
    }


def test_a_unit_without_ports_has_no_ingress() -> None:
    assert network_policy_manifest(new_unit(), unit_settings())["spec"] == {
        **BASE_POLICY,
        "egress": [DNS, PUBLIC],
    }


def test_an_ip_version_without_private_ranges_has_no_exceptions() -> None:
    open_settings = replace(unit_settings(), private_ranges=("10.0.0.0/8",))
    _, public = network_policy_manifest(new_unit(), open_settings)["spec"]["egress"]
    assert public["to"][1] == {"ipBlock": {"cidr": "::/0"}}
