"""The shipped rules and dashboard, and the metrics that their expressions use."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from hack.local.state_dir import ROOT

MONITORING_DIR = ROOT / "manifests" / "monitoring"
METRIC_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
PROMQL_KEYWORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "absent"}
# Prometheus and its operator add these labels to all metrics.
TARGET_LABELS = {"namespace", "pod", "instance", "job"}


@dataclass(frozen=True)
class MetricSelector:
    """A metric in an expression, and the labels that it must have."""

    metric: str
    labels: frozenset[str]


def rule_groups() -> dict[str, Any]:
    """Return the rules in the form that Prometheus reads."""
    groups: dict[str, Any] = yaml.safe_load((MONITORING_DIR / "rules.yaml").read_text())["spec"]
    return groups


def alerts() -> list[dict[str, Any]]:
    return [rule for group in rule_groups()["groups"] for rule in group["rules"]]


def all_expressions() -> Iterator[str]:
    """Yield the expressions of all alerts and all graphs."""
    yield from (alert["expr"] for alert in alerts())
    for panel in json.loads((MONITORING_DIR / "dashboard.json").read_text())["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))


def metrics_in_expression(expression: str) -> set[MetricSelector]:
    """Return every metric of an expression, with the labels that select it."""
    bare = re.sub(r'"[^"]*"', '""', re.sub(r"\[[\w:]+\]", "", expression))
    grouped = re.sub(r"\b(by|without)\s*\([^)]*\)", "", bare)
    matches = re.finditer(rf"({METRIC_NAME})\s*(?:\{{([^}}]*)\}})?(?!\w*\s*\()", grouped)
    return {
        MetricSelector(
            match[1],
            frozenset(re.findall(METRIC_NAME + r"(?=\s*[=!])", match[2] or "")) - TARGET_LABELS,
        )
        for match in matches
        if match[1] not in PROMQL_KEYWORDS
    }


def metrics_on_page(text: str) -> dict[str, set[str]]:
    """Return the labels of each metric on a /metrics page, also of those without samples."""
    labels_by_name: dict[str, set[str]] = {
        name: set() for name in re.findall(rf"^# TYPE ({METRIC_NAME}) ", text, re.MULTILINE)
    }
    for name, labels in re.findall(rf"^({METRIC_NAME})(?:\{{(.*)\}})? ", text, re.MULTILINE):
        labels_by_name.setdefault(name, set()).update(re.findall(rf'({METRIC_NAME})="', labels))
    return labels_by_name
