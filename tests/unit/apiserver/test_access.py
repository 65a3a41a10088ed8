"""Requests are recorded with bounded labels and without flooding the log."""

import logging

import pytest
from prometheus_client import CollectorRegistry

from apiserver.access import AccessRecorder, Exchange


def record(exchange: Exchange) -> CollectorRegistry:
    registry = CollectorRegistry()
    AccessRecorder(registry).record(exchange)
    return registry


def an_exchange(method: str = "GET", route: str = "/api/v1/health", path: str = "/") -> Exchange:
    return Exchange(method, route, path, 200, 0.25, "127.0.0.1")


def test_a_request_is_counted_and_timed_by_route_method_and_status() -> None:
    registry = record(an_exchange())
    labels = {"route": "/api/v1/health", "method": "GET", "status": "200"}
    assert registry.get_sample_value("gpuruntime_http_requests_total", labels) == 1
    assert registry.get_sample_value("gpuruntime_http_request_duration_seconds_sum", labels) == 0.25


def test_a_method_that_nobody_knows_is_counted_as_other() -> None:
    labels = {"route": "unmatched", "method": "OTHER", "status": "200"}
    registry = record(an_exchange(method="BREW", route="unmatched"))
    assert registry.get_sample_value("gpuruntime_http_requests_total", labels) == 1


def test_a_request_is_one_log_line_with_a_bounded_path(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        record(an_exchange(path="/" + "x" * 10_000))
    (line,) = caplog.records
    assert (line.message, vars(line)["durationMilliseconds"]) == ("http_request", 250)
    assert len(vars(line)["path"]) == 256


@pytest.mark.parametrize("route", ["/healthz", "/readyz", "/metrics"])
def test_probes_are_logged_at_debug_level(caplog: pytest.LogCaptureFixture, route: str) -> None:
    with caplog.at_level(logging.DEBUG):
        record(an_exchange(route=route))
    assert [line.levelname for line in caplog.records] == ["DEBUG"]
