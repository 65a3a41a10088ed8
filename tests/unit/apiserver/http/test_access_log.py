"""Tests of the access log: bounded metric labels, and no flood of log lines."""

import gc
import logging
import weakref

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry

from apiserver.http.access_log import (
    ACCESS_LOG_TIMER,
    AccessLog,
    AccessLogEntry,
    access_log_middleware,
)
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock

SECONDS = "gpuruntime_http_request_duration_seconds"
IN_FLIGHT = "gpuruntime_http_in_flight"


def log_entry(entry: AccessLogEntry) -> CollectorRegistry:
    registry = CollectorRegistry()
    AccessLog(registry).log_request(entry)
    return registry


def new_entry(
    method: str = "GET", route: str = "/api/v1/health", path: str = "/"
) -> AccessLogEntry:
    return AccessLogEntry(method, route, path, 200, 0.25, "127.0.0.1")


def test_a_request_is_counted_and_timed_by_route_method_and_status() -> None:
    registry = log_entry(new_entry())
    labels = {"route": "/api/v1/health", "method": "GET", "status": "200"}
    assert registry.get_sample_value("gpuruntime_http_requests_total", labels) == 1
    assert registry.get_sample_value("gpuruntime_http_request_duration_seconds_sum", labels) == 0.25


def test_an_unknown_http_method_is_counted_as_other() -> None:
    labels = {"route": "unmatched", "method": "OTHER", "status": "200"}
    registry = log_entry(new_entry(method="BREW", route="unmatched"))
    assert registry.get_sample_value("gpuruntime_http_requests_total", labels) == 1


def test_a_request_gets_one_log_line_with_a_truncated_path(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        log_entry(new_entry(path="/" + "x" * 10_000))
    (line,) = caplog.records
    assert (line.message, vars(line)["durationMilliseconds"]) == ("http_request", 250)
    assert len(vars(line)["path"]) == 256


@pytest.mark.parametrize("route", ["/healthz", "/readyz", "/metrics"])
def test_probes_are_logged_at_debug_level(caplog: pytest.LogCaptureFixture, route: str) -> None:
    with caplog.at_level(logging.DEBUG):
        log_entry(new_entry(route=route))
    assert [line.levelname for line in caplog.records] == ["DEBUG"]


async def test_a_stream_is_logged_when_it_begins_and_is_not_in_flight_after_that() -> None:
    registry, clock = CollectorRegistry(), AutoAdvanceClock()

    async def stream(request: web.Request) -> web.StreamResponse:
        clock.advance(0.5)
        assert registry.get_sample_value(IN_FLIGHT) == 1
        request[ACCESS_LOG_TIMER].log_answered(200)
        assert registry.get_sample_value(IN_FLIGHT) == 0
        clock.advance(3600)
        return web.Response()

    middleware = access_log_middleware(AccessLog(registry), clock)
    await middleware(make_mocked_request("GET", "/"), stream)
    samples = [sample for metric in registry.collect() for sample in metric.samples]
    assert [sample.value for sample in samples if sample.name == f"{SECONDS}_sum"] == [0.5]
    assert [sample.value for sample in samples if sample.name == f"{SECONDS}_count"] == [1]
    assert registry.get_sample_value(IN_FLIGHT) == 0


async def test_an_interrupted_request_is_no_longer_in_flight() -> None:
    registry = CollectorRegistry()

    async def interrupted(_: web.Request) -> web.StreamResponse:
        raise ConnectionResetError

    middleware = access_log_middleware(AccessLog(registry), AutoAdvanceClock())
    with pytest.raises(ConnectionResetError):
        await middleware(make_mocked_request("GET", "/"), interrupted)
    assert registry.get_sample_value(IN_FLIGHT) == 0


async def test_a_finished_request_is_freed_without_the_garbage_collector() -> None:
    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response()

    middleware = access_log_middleware(AccessLog(CollectorRegistry()), AutoAdvanceClock())
    request = make_mocked_request("GET", "/")
    reference = weakref.ref(request)
    gc.disable()
    try:
        await middleware(request, handle)
        del request
        assert reference() is None
    finally:
        gc.enable()
