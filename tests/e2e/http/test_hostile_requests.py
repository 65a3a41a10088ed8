"""Hostile requests to a running API on a real cluster: clear refusals and a clean log."""

import asyncio
import http.client
import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.http.server import KEEPALIVE_SECONDS
from hack.cluster.control_plane import ControlPlane
from tests.e2e.http.raw_http import JSON_HEADER, TIMEOUT_SECONDS, RawConnection, RawResponse
from tests.support.checks import log_lines
from tests.support.cluster.isolated_installation import new_isolated_installation
from tests.support.cluster.product_processes import ProductProcess
from tests.support.cluster.running_product import run_api
from tests.support.wait.eventually import eventually

UNITS = "/api/v1/gpu-units"
MAX_BODY_BYTES = 128 * 1024
HEAD_SECONDS = 5.0
MAX_HEALTH_SECONDS = 10.0  # one second is promised, but a machine may be slow
CONNECTIONS = 10_000
SPARE_FILES = 600
MAX_CONNECTION_BYTES = 20_000  # of the API's memory
UNIT = {"operationID": "o-1", "name": "trainer", "specName": "none", "image": "example/app:1"}
BODY = json.dumps(UNIT).encode()
CHUNKED = (
    f"POST {UNITS} HTTP/1.1\r\nHost: a\r\n{JSON_HEADER}\r\nTransfer-Encoding: chunked\r\n\r\n"
).encode()


@pytest.fixture(scope="module", autouse=True)
def _many_files() -> Iterator[None]:
    """Raise the limit of open files of this process to its maximum; the API inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def api(
    installed_control_plane: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
    _many_files: None,
) -> Iterator[ProductProcess]:
    """Run one API for all of these tests; every test must leave it healthy."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        installation = runner.run(
            stack.enter_async_context(new_isolated_installation(installed_control_plane))
        )
        folder = tmp_path_factory.mktemp("hostile")
        yield runner.run(stack.enter_async_context(run_api(installation, folder)))
        runner.run(stack.aclose())


@pytest.fixture
def wire(api: ProductProcess) -> RawConnection:
    return RawConnection(int(api.url.rpartition(":")[2]))


def assert_refused(api: ProductProcess, response: RawResponse, *statuses: int) -> None:
    """Require one of these statuses with the error body, and one log line without an error."""
    assert response.status in statuses, response
    assert response.json["error"]["message"]
    lines = log_lines.parse_log(api.process.log_path)
    of_request = [line for line in lines if line.get("requestID") == response.request_id]
    assert [line["event"] for line in of_request] == ["http_request"]
    assert of_request[0]["status"] == str(response.status)
    assert not [line for line in lines if line["level"] == "error"]


def post(wire: RawConnection, body: bytes, *headers: str) -> RawResponse:
    return wire.request("POST", UNITS, *(headers or (JSON_HEADER,)), body=body)


def test_a_body_above_the_maximum_size_is_refused(api: ProductProcess, wire: RawConnection) -> None:
    assert_refused(api, post(wire, BODY.ljust(MAX_BODY_BYTES)), 409)
    assert_refused(api, post(wire, BODY.ljust(MAX_BODY_BYTES + 1)), 413)


def test_a_chunked_body_above_the_maximum_size_is_refused(
    api: ProductProcess, wire: RawConnection
) -> None:
    body = BODY.ljust(MAX_BODY_BYTES + 1)
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    assert_refused(api, wire.send(CHUNKED + chunk)[0], 413)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" ", b"[]", b'"text"', b"null", b"{", b"{}{}", b"{'a': 1}", b"\xef\xbb\xbf{}"),
        *(BODY.replace(b"trainer", b"\xff\xfe"), BODY.decode().encode("utf-16")),
        *(
            BODY.replace(b'"trainer"', value)
            for value in (b"1e400", b"-1e400", b"NaN", b"Infinity")
        ),
        *(BODY.replace(b'"trainer"', value) for value in (b"9" * 5000, b"1e999999999", b"-0.0e-5")),
        *(BODY.replace(b'"trainer"', value) for value in (b'"\\ud800"', b'"\\u0000"', b'"a\nb"')),
        BODY.replace(b'"name"', b'"operationID"'),
        BODY.replace(b"}", b', "template": {"args": [], "args": []}}'),
        b"[" * 60_000 + b"]" * 60_000,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"labels":' + b"[" * 100_000,
        json.dumps({**UNIT, "namespace": "kube-system"}).encode(),
        json.dumps({**UNIT, "stockNamespace": "../default"}).encode(),
        json.dumps({**UNIT, "name": "tr\u0430iner"}).encode(),
        json.dumps({**UNIT, "name": "../../secrets"}).encode(),
        json.dumps({**UNIT, "stockName": "a/../b"}).encode(),
        json.dumps({**UNIT, "__proto__": {}, "memory": "1Ti"}).encode(),
        json.dumps({**UNIT, "labels": {f"k{n}": 1 for n in range(5000)}}).encode(),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_an_invalid_body_is_refused(api: ProductProcess, wire: RawConnection, body: bytes) -> None:
    assert_refused(api, post(wire, body), 400)


@pytest.mark.parametrize(
    "header",
    [
        *("X: y", "Content-Type:", "Content-Type: text/plain", "Content-Type: application/jso"),
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=x",
        "Content-Type: application/json; charset=utf-16",
        "Content-Type: application/json; charset=\u0430",
        "Content-Type: " + "a" * 4000,
    ],
)
def test_a_body_of_another_media_type_is_refused(
    api: ProductProcess, wire: RawConnection, header: str
) -> None:
    assert_refused(api, post(wire, BODY, header), 400, 415)


@pytest.mark.parametrize(
    "path",
    [
        *("a%2Fb", "..%2f..%2fsecrets", "%2e%2e/%2e%2e", "..", "../../../etc/passwd", "a%00b"),
        *("%", "%zz", "%ff%fe", "tr%D0%B0iner", "%EF%BD%81", "trainer%20", "a" * 64, "a" * 7000),
        *("%0d%0aevent=forged", "\u0430", "a?b?c=%00", "?limit=1e9", "?limit=-1", "?limit=%D9%A1"),
        *("?continue=" + "x" * 5000, "?label=" + "(" * 4000, "?continue=%00", "?specName=../.."),
    ],
    ids=lambda path: path[:24],
)
def test_a_hostile_path_is_refused(api: ProductProcess, wire: RawConnection, path: str) -> None:
    full_path = f"{UNITS}{path}" if path.startswith("?") else f"{UNITS}/{path}"
    assert_refused(api, wire.request("GET", full_path), 400, 404)


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\x00Y: z\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        CHUNKED.replace(b"Host: a", b"Content-Length: 1"),
        b"POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2;" + b"x" * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2\r\n{}XX0\r\n\r\n",
    ],
    ids=lambda raw: repr(raw[-40:]),
)
def test_malformed_http_is_refused(api: ProductProcess, wire: RawConnection, raw: bytes) -> None:
    assert_refused(api, wire.send(raw)[0], 400, 404, 405)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /?" + b"x" * 50_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    ],
    ids=["address", "header"],
)
def test_an_oversized_request_line_or_header_is_refused_with_its_status(
    api: ProductProcess, wire: RawConnection, raw: bytes, status: int
) -> None:
    response = wire.send(raw)[0]
    assert_refused(api, response, status)
    assert response.json["error"]["code"] == "too_large"


def test_pipelined_requests_get_their_responses_in_order(
    api: ProductProcess, wire: RawConnection
) -> None:
    ids = [f"call-{number}" for number in range(20)]
    raw = [f"GET {UNITS}/x HTTP/1.1\r\nHost: a\r\nX-Request-ID: {id_}\r\n\r\n" for id_ in ids]
    responses = wire.send("".join(raw).encode(), count=len(ids))
    assert [response.request_id for response in responses] == ids
    for response in responses:
        assert_refused(api, response, 404)


def test_a_request_smuggled_in_a_body_gets_no_response(wire: RawConnection) -> None:
    hidden = b"GET /api/v1/hidden HTTP/1.1\r\nHost: a\r\n\r\n"
    head = f"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: {len(hidden)}\r\n\r\n".encode()
    last = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    assert wire.send_and_read_all(head + hidden + last).count(b"HTTP/1.1 200 OK") == 2


def test_malformed_data_after_a_valid_request_closes_the_connection(wire: RawConnection) -> None:
    received = wire.send_and_read_all(
        b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" + b"\x00\xff nonsense\r\n\r\n"
    )
    assert received.count(b" 400 Bad Request\r\n") == 1
    assert received.endswith(b"}}")


FORGED = 'a\u2028level=error event=forged \x1b[31m \x85 \\n" ts=0'


@pytest.mark.parametrize("header", ["X-Request-ID", "User-Agent", "Content-Type", "If-Match"])
def test_a_header_cannot_forge_the_log(
    api: ProductProcess, wire: RawConnection, header: str
) -> None:
    assert_refused(
        api, wire.request("PUT", f"{UNITS}/x", f"{header}: {FORGED}", body=b"{}"), 400, 415
    )


def test_neither_a_path_nor_a_method_can_forge_the_log(
    api: ProductProcess, wire: RawConnection
) -> None:
    assert_refused(api, wire.request("GET", f"{UNITS}/%0Alevel=error%20event=forged%1b%5b31m"), 404)
    assert_refused(api, wire.request("event=forged", UNITS), 400, 405)


def test_a_body_cannot_forge_the_log(api: ProductProcess, wire: RawConnection) -> None:
    assert_refused(api, post(wire, json.dumps({**UNIT, "name": FORGED, FORGED: 1}).encode()), 400)
    assert_refused(
        api, post(wire, json.dumps({**UNIT, "operationID": f"o {FORGED}"}).encode()), 400
    )


def test_a_connection_with_slow_headers_is_closed(wire: RawConnection) -> None:
    started_at = time.monotonic()
    with socket.create_connection(("127.0.0.1", wire.port), timeout=1) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        while not is_closed_by_server(slow):
            assert time.monotonic() < started_at + TIMEOUT_SECONDS
    assert time.monotonic() - started_at > HEAD_SECONDS - 1


def is_closed_by_server(slow: socket.socket) -> bool:
    """Return whether the server closes the connection.

    The function waits, then sends one more header; a reset counts too, because it follows when both
    sides act at the same time.
    """
    try:
        return slow.recv(1) == b""
    except TimeoutError:
        pass
    except ConnectionError:
        return True
    try:
        slow.sendall(b"X: y\r\n")
    except ConnectionError:
        return True
    return False


def test_silent_connections_are_closed(wire: RawConnection) -> None:
    address = ("127.0.0.1", wire.port)
    silent = [socket.create_connection(address, timeout=TIMEOUT_SECONDS) for _ in range(500)]
    assert wire.request("GET", "/healthz").status == 200
    for connection in silent:
        with connection:
            assert connection.recv(1) == b""


def test_ten_thousand_idle_connections_leave_the_api_healthy(
    api: ProductProcess, wire: RawConnection
) -> None:
    count = min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES)
    process = psutil.Process(api.process.pid)
    before = process.memory_info().rss
    with ExitStack() as idle:
        first_at = time.monotonic()
        for opened in range(count):
            if time.monotonic() > first_at + KEEPALIVE_SECONDS / 2:
                count = opened  # the server is about to close the first ones
                break
            idle.enter_context(open_idle_connection(wire))
        requested_at = time.monotonic()
        assert wire.request("GET", "/api/v1/health").status == 200
        assert time.monotonic() - requested_at < MAX_HEALTH_SECONDS
        assert process.num_fds() > count
        assert process.memory_info().rss - before < MAX_CONNECTION_BYTES * count
    asyncio.run(eventually(lambda: asyncio.to_thread(process.num_fds), SPARE_FILES.__gt__))


def open_idle_connection(wire: RawConnection) -> socket.socket:
    """Return a connection that has received its response and may stay idle for a while."""
    connection = socket.create_connection(("127.0.0.1", wire.port), timeout=TIMEOUT_SECONDS)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    while not connection.recv(4096).endswith(b"}}"):
        pass
    return connection


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    [*UNIT, "template", "access", "storageMounts", "labels", "imagePullSecrets", "serverless"]
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Generate a valid body with some bytes replaced."""
    start = draw(st.integers(0, len(BODY)))
    return BODY[:start] + draw(st.binary(max_size=8)) + BODY[start + draw(st.integers(0, 8)) :]


def with_fields(fields: dict[str, Any]) -> bytes:
    """Generate a valid body with some fields replaced."""
    return json.dumps({**UNIT, **fields}).encode()


BODIES = (
    st.binary(max_size=300)
    | damaged()
    | VALUES.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(FIELDS, VALUES, max_size=3).map(with_fields)
)


def test_no_request_body_causes_a_server_error(wire: RawConnection, api: ProductProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", wire.port, timeout=TIMEOUT_SECONDS)

    @settings(max_examples=400)
    @given(BODIES)
    def attempt(body: bytes) -> None:
        connection.request("POST", UNITS, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        body_json = json.loads(response.read())
        assert 400 <= response.status < 500
        assert body_json["error"]["code"]

    attempt()
    connection.close()
    assert not [
        line for line in log_lines.parse_log(api.process.log_path) if line["level"] == "error"
    ]
