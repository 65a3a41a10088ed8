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


def record(exchange: AccessLogEntry) -> CollectorRegistry:
    registry = CollectorRegistry()
    AccessLog(registry).log_request(exchange)
    return registry


def an_exchange(
    method: str = "GET", route: str = "/api/v1/health", path: str = "/"
) -> AccessLogEntry:
    return AccessLogEntry(method, route, path, 200, 0.25, "127.0.0.1")


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


async def test_a_stream_is_answered_when_it_begins_and_is_not_in_flight_after_that() -> None:
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
    assert [each.value for each in samples if each.name == f"{SECONDS}_sum"] == [0.5]
    assert [each.value for each in samples if each.name == f"{SECONDS}_count"] == [1]
    assert registry.get_sample_value(IN_FLIGHT) == 0


async def test_a_request_that_is_cut_off_is_no_longer_in_flight() -> None:
    registry = CollectorRegistry()

    async def cut_off(_: web.Request) -> web.StreamResponse:
        raise ConnectionResetError

    middleware = access_log_middleware(AccessLog(registry), AutoAdvanceClock())
    with pytest.raises(ConnectionResetError):
        await middleware(make_mocked_request("GET", "/"), cut_off)
    assert registry.get_sample_value(IN_FLIGHT) == 0


async def test_an_answered_request_goes_without_the_collector() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response()

    middleware = access_log_middleware(AccessLog(CollectorRegistry()), AutoAdvanceClock())
    request = make_mocked_request("GET", "/")
    gone = weakref.ref(request)
    gc.disable()
    try:
        await middleware(request, answer)
        del request
        assert gone() is None
    finally:
        gc.enable()
