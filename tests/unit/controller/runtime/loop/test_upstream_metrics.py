"""Tests of metrics for controller-runtime dashboards: same names, types, labels and buckets."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from controller.runtime.client.metrics import RestMetrics
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.loop.metrics import LabelledLoopMetrics, LoopMetrics
from controller.runtime.queue.metrics import QueueMetrics, QueueMetricsObserver
from tests.support.clocks.virtual_clock import VirtualClock

UPSTREAM: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "upstream_metrics.yaml").read_text()
)


@pytest.fixture(scope="module")
def families() -> dict[str, Metric]:
    """Return the metrics of a process with one component of each kind, by their exported name."""
    registry = CollectorRegistry()
    rest = RestMetrics(registry)
    rest.requests.labels("200", "GET", "host").inc()
    rest.retries.labels("429", "GET", "host").inc()
    rest.request_seconds.labels("GET", "host").observe(1)
    QueueMetricsObserver(QueueMetrics(registry, VirtualClock()), "loop")
    LabelledLoopMetrics(LoopMetrics(registry), "loop")
    leader = LeaderMetrics(registry)
    leader.status.labels("lease").set(1)
    leader.slow_path.labels("lease").inc()
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: family
        for family in registry.collect()
    }


@pytest.mark.parametrize("name", UPSTREAM)
def test_a_metric_has_the_type_and_labels_of_upstream(
    name: str, families: dict[str, Metric]
) -> None:
    upstream, family = UPSTREAM[name], families[name]
    assert family.type == upstream["type"]
    (labels, *_) = {tuple(sample.labels) for sample in family.samples}
    assert set(labels) - {"le"} == set(upstream["labels"])


@pytest.mark.parametrize("name", [name for name in UPSTREAM if "buckets" in UPSTREAM[name]])
def test_a_histogram_has_the_buckets_of_upstream(name: str, families: dict[str, Metric]) -> None:
    bounds = {float(s.labels["le"]) for s in families[name].samples if "le" in s.labels}
    assert sorted(bounds - {float("inf")}) == pytest.approx(UPSTREAM[name]["buckets"])
