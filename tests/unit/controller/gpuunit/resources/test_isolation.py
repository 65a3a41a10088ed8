"""Tests of the shipped namespace policies: what they allow to a unit without its own policy."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from controller.gpuunit.resources.children import desired_deployment
from controller.gpuunit.resources.network_policy import network_policy_manifest
from controller.gpuunit.workload import Workload
from hack.local.state_dir import ROOT
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit
from tests.unit.controller.gpuunit.resources.golden_deployments import shipped_settings

FOLDER = ROOT / "manifests" / "isolation"
FILES = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
POLICIES = [policy for name in FILES for policy in yaml.safe_load_all((FOLDER / name).read_text())]

UNITS = {
    "reservation": new_unit(
        namespace=STOCK_NAMESPACE, template={"ports": [{"name": "http", "port": 80}]}
    ),
    "unit": new_unit(template={"ports": [{"name": "http", "port": 80}]}),
    "worker": new_unit(serverless={"requestID": "echo"}),
}


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether the selector matches; supports the two kinds of shipped selectors."""
    required, present = selector.get("matchLabels", {}), selector.get("matchExpressions", [])
    assert all(expression["operator"] == "Exists" for expression in present)
    return required.items() <= labels.items() and all(
        expression["key"] in labels for expression in present
    )


def policies_for(unit: GPUUnit) -> list[dict[str, Any]]:
    pod = desired_deployment(unit, shipped_settings(), None, Workload())["spec"]["template"][
        "metadata"
    ]["labels"]
    return [
        policy["spec"]
        for policy in POLICIES
        if policy["metadata"]["namespace"] == unit.metadata.namespace
        and selects(policy["spec"]["podSelector"], pod)
    ]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_a_terminating_unit_keeps_its_egress_and_accepts_no_connection(unit: GPUUnit) -> None:
    policies, own = policies_for(unit), network_policy_manifest(unit, shipped_settings())["spec"]

    egress = [rule for policy in policies for rule in policy.get("egress", [])]
    assert egress == own.get("egress", [])
    assert [rule for policy in policies for rule in policy.get("ingress", [])] == []
    assert {policy_type for policy in policies for policy_type in policy["policyTypes"]} == {
        "Ingress",
        "Egress",
    }
