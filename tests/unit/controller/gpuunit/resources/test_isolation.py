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
SHIPPED = [each for name in FILES for each in yaml.safe_load_all((FOLDER / name).read_text())]

UNITS = {
    "reservation": new_unit(
        namespace=STOCK_NAMESPACE, template={"ports": [{"name": "http", "port": 80}]}
    ),
    "unit": new_unit(template={"ports": [{"name": "http", "port": 80}]}),
    "worker": new_unit(serverless={"requestID": "echo"}),
}


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether the selector matches; supports the two kinds of shipped selectors."""
    wanted, present = selector.get("matchLabels", {}), selector.get("matchExpressions", [])
    assert all(each["operator"] == "Exists" for each in present)
    return wanted.items() <= labels.items() and all(each["key"] in labels for each in present)


def holding_for(unit: GPUUnit) -> list[dict[str, Any]]:
    pod = desired_deployment(unit, shipped_settings(), None, Workload())["spec"]["template"][
        "metadata"
    ]["labels"]
    return [
        each["spec"]
        for each in SHIPPED
        if each["metadata"]["namespace"] == unit.metadata.namespace
        and selects(each["spec"]["podSelector"], pod)
    ]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_a_terminating_unit_keeps_its_egress_and_accepts_no_connection(unit: GPUUnit) -> None:
    policies, own = holding_for(unit), network_policy_manifest(unit, shipped_settings())["spec"]

    assert [rule for each in policies for rule in each.get("egress", [])] == own.get("egress", [])
    assert [rule for each in policies for rule in each.get("ingress", [])] == []
    assert {way for each in policies for way in each["policyTypes"]} == {"Ingress", "Egress"}
