"""Tests of monitoring: alerts link to the runbook, monitors to ports, expressions to metrics."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from controller.gpuunit.resources.children import desired_deployment
from controller.gpuunit.workload import Workload
from hack.local.state_dir import ROOT
from tests.support.builders.gpu_units import new_unit
from tests.support.checks.monitoring_manifests import (
    MetricSelector,
    alerts,
    metrics_in_expression,
    metrics_on_page,
)
from tests.unit.controller.gpuunit.resources.golden_deployments import shipped_settings

MANIFESTS = ROOT / "manifests"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
PARTS = ("**Means.**", "**Look.**", "**Do.**")


def shipped(kind: str) -> list[dict[str, Any]]:
    """Return every object of a kind in the manifests of the programs, as written."""
    files = [path for path in sorted(MANIFESTS.glob("*/*.yaml")) if path.parent.name != "samples"]
    objects = [item for path in files for item in yaml.safe_load_all(path.read_text())]
    return [item for item in objects if isinstance(item, dict) and item.get("kind") == kind]


def name_of(manifest: dict[str, Any]) -> str:
    return str(manifest["metadata"]["name"])


def covers(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()


def entries() -> dict[str, str]:
    """Return the text of each runbook entry by its heading."""
    _, *parts = re.split(r"^### ", RUNBOOK, flags=re.MULTILINE)
    return {part.partition("\n")[0].strip(): part for part in parts}


def test_the_runbook_has_exactly_one_entry_for_each_alert() -> None:
    assert list(entries()) == [alert["alert"] for alert in alerts()]


def test_every_alert_links_to_its_runbook_entry() -> None:
    for alert in alerts():
        anchor = f"docs/runbook.md#{alert['alert'].lower()}"
        assert alert["annotations"]["runbook_url"] == anchor
        assert alert["annotations"]["summary"]
        assert alert["labels"]["severity"] in ("critical", "warning")


def test_every_runbook_entry_has_its_three_parts_and_a_command() -> None:
    for name, text in entries().items():
        assert all(part in text for part in PARTS), name
        assert re.search(r"^(kubectl|curl) ", text, re.MULTILINE), f"{name}: no command to type"


@pytest.mark.parametrize("monitor", shipped("ServiceMonitor"), ids=name_of)
def test_a_monitor_selects_the_metrics_port_of_its_program(
    monitor: dict[str, Any],
) -> None:
    labels = monitor["spec"]["selector"]["matchLabels"]
    (service,) = [item for item in shipped("Service") if covers(item["metadata"]["labels"], labels)]
    (deployment,) = [
        item
        for item in shipped("Deployment")
        if covers(item["spec"]["template"]["metadata"]["labels"], service["spec"]["selector"])
    ]
    (endpoint,) = monitor["spec"]["endpoints"]
    (port,) = service["spec"]["ports"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (served,) = container["ports"]

    assert endpoint["path"] == "/metrics"
    assert endpoint["port"] == port["name"]
    assert port["targetPort"] == served["name"]
    assert port["port"] == served["containerPort"]


def test_every_deployment_has_a_service_monitor() -> None:
    assert {name_of(item) for item in shipped("ServiceMonitor")} == {
        name_of(item) for item in shipped("Deployment")
    }


def test_the_pod_monitor_selects_workers_by_their_labels_and_port_name() -> None:
    (monitor,) = shipped("PodMonitor")
    settings = shipped_settings()
    worker = new_unit(serverless={"requestID": "echo"})
    pod = desired_deployment(worker, settings, None, Workload())["spec"]["template"]
    (sidecar,) = pod["spec"]["initContainers"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]

    assert monitor["spec"]["namespaceSelector"] == {"matchNames": [settings.namespaces.instance]}
    assert covers(pod["metadata"]["labels"], monitor["spec"]["selector"]["matchLabels"])
    assert endpoint["port"] in [port["name"] for port in sidecar["ports"]]


def test_metrics_are_found_in_expressions() -> None:
    selectors = metrics_in_expression(
        'sum by (a) (rate(one_total{b=~"x|y", c!="d"}[5m])) or 0 * max(two) > 1'
    )
    assert selectors == {
        MetricSelector("one_total", frozenset({"b", "c"})),
        MetricSelector("two", frozenset()),
    }


def test_metrics_are_found_in_a_subquery_of_an_expression() -> None:
    assert metrics_in_expression("delta(max by (a) (one)[15m:1m])") == {
        MetricSelector("one", frozenset())
    }


def test_series_are_found_on_a_metrics_page() -> None:
    page = '# HELP a b\n# TYPE a gauge\na{x="1",y="2"} 3\nb 4\n# TYPE c_total counter\n'
    assert metrics_on_page(page) == {"a": {"x", "y"}, "b": set(), "c_total": set()}
