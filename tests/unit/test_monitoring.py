"""Tests of monitoring: alerts link to the runbook, monitors to ports, expressions to metrics."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from controller.gpuunit.resources.children import desired_deployment as asked_for_pod
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
    found = [each for path in files for each in yaml.safe_load_all(path.read_text())]
    return [each for each in found if isinstance(each, dict) and each.get("kind") == kind]


def name_of(found: dict[str, Any]) -> str:
    return str(found["metadata"]["name"])


def covers(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return wanted.items() <= labels.items()


def entries() -> dict[str, str]:
    """Return the text of each runbook entry by its heading."""
    _, *parts = re.split(r"^### ", RUNBOOK, flags=re.MULTILINE)
    return {part.partition("\n")[0].strip(): part for part in parts}


def test_every_alert_has_its_entry_in_the_runbook_and_no_entry_is_left_over() -> None:
    assert list(entries()) == [alert["alert"] for alert in alerts()]


def test_every_alert_names_the_place_of_its_entry() -> None:
    for alert in alerts():
        anchor = f"docs/runbook.md#{alert['alert'].lower()}"
        assert alert["annotations"]["runbook_url"] == anchor
        assert alert["annotations"]["summary"]
        assert alert["labels"]["severity"] in ("critical", "warning")


def test_every_entry_says_what_it_means_what_to_look_at_and_what_to_do() -> None:
    for name, text in entries().items():
        assert all(part in text for part in PARTS), name
        assert re.search(r"^(kubectl|curl) ", text, re.MULTILINE), f"{name}: no command to type"


@pytest.mark.parametrize("monitor", shipped("ServiceMonitor"), ids=name_of)
def test_a_monitor_finds_the_port_that_a_program_serves_its_metrics_on(
    monitor: dict[str, Any],
) -> None:
    labels = monitor["spec"]["selector"]["matchLabels"]
    (service,) = [each for each in shipped("Service") if covers(each["metadata"]["labels"], labels)]
    (deployment,) = [
        each
        for each in shipped("Deployment")
        if covers(each["spec"]["template"]["metadata"]["labels"], service["spec"]["selector"])
    ]
    (endpoint,) = monitor["spec"]["endpoints"]
    (port,) = service["spec"]["ports"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (served,) = container["ports"]

    assert endpoint["path"] == "/metrics"
    assert endpoint["port"] == port["name"]
    assert port["targetPort"] == served["name"]
    assert port["port"] == served["containerPort"]


def test_every_program_of_ours_is_monitored() -> None:
    assert {name_of(each) for each in shipped("ServiceMonitor")} == {
        name_of(each) for each in shipped("Deployment")
    }


def test_workers_are_found_by_their_labels_and_by_the_name_of_their_port() -> None:
    (monitor,) = shipped("PodMonitor")
    settings = shipped_settings()
    worker = new_unit(serverless={"requestID": "echo"})
    pod = asked_for_pod(worker, settings, None, Workload())["spec"]["template"]
    (sidecar,) = pod["spec"]["initContainers"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]

    assert monitor["spec"]["namespaceSelector"] == {"matchNames": [settings.namespaces.instance]}
    assert covers(pod["metadata"]["labels"], monitor["spec"]["selector"]["matchLabels"])
    assert endpoint["port"] in [each["name"] for each in sidecar["ports"]]


def test_metrics_are_found_in_expressions() -> None:
    asked = metrics_in_expression(
        'sum by (a) (rate(one_total{b=~"x|y", c!="d"}[5m])) or 0 * max(two) > 1'
    )
    assert asked == {
        MetricSelector("one_total", frozenset({"b", "c"})),
        MetricSelector("two", frozenset()),
    }


def test_metrics_are_found_in_a_stretch_of_an_expression() -> None:
    assert metrics_in_expression("delta(max by (a) (one)[15m:1m])") == {
        MetricSelector("one", frozenset())
    }


def test_series_are_found_on_a_page() -> None:
    page = '# HELP a b\n# TYPE a gauge\na{x="1",y="2"} 3\nb 4\n# TYPE c_total counter\n'
    assert metrics_on_page(page) == {"a": {"x", "y"}, "b": set(), "c_total": set()}
