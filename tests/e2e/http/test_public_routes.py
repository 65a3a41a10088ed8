"""The HTTP surface of an API process without a cluster, seen by a client."""

import re
from collections.abc import Iterator

import pytest

from tests.e2e.http.api_process import APIProcess, run_api_process
from tests.e2e.http.raw_http import RawResponse

REQUEST_ID = "X-Request-ID"


@pytest.fixture(name="api", scope="module")
def _api() -> Iterator[APIProcess]:
    with run_api_process("--kube-mode", "off") as process:
        yield process


def assert_failure(response: RawResponse, status: int, code: str) -> None:
    assert response.status == status
    assert response.json["error"]["code"] == code
    assert response.json["error"]["message"]
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", response.headers[REQUEST_ID])


def test_the_liveness_probe_succeeds(api: APIProcess) -> None:
    assert api.get("/healthz").json == {"data": {"status": "alive"}}


def test_a_process_with_kube_mode_off_is_ready(api: APIProcess) -> None:
    response = api.get("/readyz")
    assert (response.status, response.json) == (200, {"data": {"status": "ready"}})


def test_health_omits_unknown_values(api: APIProcess) -> None:
    assert set(api.get("/api/v1/health").json["data"]) == {
        *("startedAt", "uptimeSeconds", "version"),
        *("kubernetesConnected", "kubeError", "queueConnected", "queueError"),
    }


def test_an_unknown_path_is_not_found(api: APIProcess) -> None:
    assert_failure(api.get("/api/v1/nope"), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/gpu-units"),
        ("POST", "/api/v1/gpu-units"),
        ("PUT", "/api/v1/gpu-units/a"),
        ("GET", "/api/v1/gpu-storages"),
        ("POST", "/api/v1/gpu-storages/a/recover"),
        ("GET", "/api/v1/operator/jobs/a"),
        ("GET", "/ui/events"),
        ("DELETE", "/api/v1/operator/stock-units/a"),
    ],
)
def test_without_a_cluster_resources_are_unavailable(
    api: APIProcess, method: str, path: str
) -> None:
    response = api.request(method, path)
    assert_failure(response, 503, "service_unavailable")
    assert response.headers["Retry-After"]


@pytest.mark.parametrize(
    "path", ["/swagger/static/..%2f..%2fsetup.cfg", "/ui/static/..%2fassets.py", "/ui/nothing"]
)
def test_an_unknown_file_of_a_page_is_not_found(api: APIProcess, path: str) -> None:
    assert_failure(api.get(path), 404, "not_found")


def test_the_event_stream_supports_get_only(api: APIProcess) -> None:
    response = api.request("HEAD", "/ui/events")
    assert (response.status, response.headers["Allow"]) == (405, "GET")


def test_an_unsupported_method_gets_the_allowed_methods(api: APIProcess) -> None:
    response = api.request("POST", "/api/v1/health")
    assert_failure(response, 405, "method_not_allowed")
    assert response.headers["Allow"] == "GET,HEAD"


def test_the_error_for_an_unknown_query_parameter_names_it(api: APIProcess) -> None:
    response = api.get("/api/v1/health?verbose=1")
    assert_failure(response, 400, "invalid_request")
    assert response.json["error"]["details"][0]["field"] == "query.verbose"


@pytest.mark.parametrize(
    "raw",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nNo colon here\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["words", "version", "header", "length", "expect", "tls"],
)
def test_malformed_http_gets_a_json_error(api: APIProcess, raw: bytes) -> None:
    assert_failure(api.send(raw), 400, "invalid_request")


def test_a_valid_request_id_of_the_caller_is_returned(api: APIProcess) -> None:
    assert api.get("/healthz", X_Request_ID="call-1").headers[REQUEST_ID] == "call-1"


def test_an_invalid_request_id_is_replaced(api: APIProcess) -> None:
    assert api.get("/healthz", X_Request_ID="a b").headers[REQUEST_ID] != "a b"


@pytest.mark.parametrize("path", ["/swagger", "/swagger/", "/swagger/index.html", "/ui", "/ui/"])
def test_a_page_requests_no_other_host(api: APIProcess, path: str) -> None:
    response = api.get(path)
    page = response.body.decode()
    assert response.headers["Content-Type"].startswith("text/html")
    assert "://" not in page
    for link in re.findall(r'(?:src|href)="(/[^"]+)"', page):
        assert api.get(link).status == 200


def test_the_dashboard_allows_scripts_of_the_same_origin_only(api: APIProcess) -> None:
    policy = api.get("/ui").headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy


def test_the_swagger_script_uses_no_validator_and_removes_the_query(api: APIProcess) -> None:
    script = api.get("/swagger/static/start.js").body.decode()
    assert "validatorUrl: null" in script
    assert script.startswith("history.replaceState")


def test_a_cached_static_file_gets_304(api: APIProcess) -> None:
    etag = api.get("/swagger/static/start.js").headers["Etag"]
    assert api.get("/swagger/static/start.js", If_None_Match=etag).status == 304


def test_the_openapi_document_is_served(api: APIProcess) -> None:
    document = api.get("/swagger/doc.json").json
    assert document["swagger"] == "2.0"
    assert "/api/v1/health" in document["paths"]


def test_metrics_have_the_documented_names(api: APIProcess) -> None:
    api.get("/healthz")
    text = api.get("/metrics").body.decode()
    for name in (
        'gpuruntime_http_requests_total{method="GET",route="/healthz",status="200"}',
        "gpuruntime_http_request_duration_seconds_bucket",
        "gpuruntime_http_in_flight 1.0",
        "# TYPE rest_client_requests_total counter",
        "# TYPE rest_client_request_duration_seconds histogram",
        "process_resident_memory_bytes",
    ):
        assert name in text


def test_metrics_have_the_format_of_the_accept_header(api: APIProcess) -> None:
    openmetrics = api.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert openmetrics.headers["Content-Type"].startswith("application/openmetrics-text")


def test_unknown_http_methods_do_not_become_metric_labels(api: APIProcess) -> None:
    assert_failure(api.request("PROPFIND", "/healthz"), 405, "method_not_allowed")
    text = api.get("/metrics").body.decode()
    assert 'method="OTHER"' in text
    assert "PROPFIND" not in text
