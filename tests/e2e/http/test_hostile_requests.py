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
LARGEST = 128 * 1024
HEAD_SECONDS = 5.0
HEALTH_SECONDS = 10.0  # one second is promised, but a machine may be slow
CONNECTIONS = 10_000
SPARE_FILES = 600
LARGEST_CONNECTION = 20_000  # bytes of the API's memory
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
    """Run one API for all of these tests; no test may harm it."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        site = runner.run(
            stack.enter_async_context(new_isolated_installation(installed_control_plane))
        )
        home = tmp_path_factory.mktemp("hostile")
        yield runner.run(stack.enter_async_context(run_api(site, home)))
        runner.run(stack.aclose())


@pytest.fixture
def wire(api: ProductProcess) -> RawConnection:
    return RawConnection(int(api.url.rpartition(":")[2]))


def refused(api: ProductProcess, answer: RawResponse, *statuses: int) -> None:
    """Require one of these statuses with the error body, and one log line without an error."""
    assert answer.status in statuses, answer
    assert answer.json["error"]["message"]
    lines = log_lines.parse_log(api.process.log_path)
    about = [line for line in lines if line.get("requestID") == answer.request_id]
    assert [line["event"] for line in about] == ["http_request"]
    assert about[0]["status"] == str(answer.status)
    assert not [line for line in lines if line["level"] == "error"]


def post(wire: RawConnection, body: bytes, *headers: str) -> RawResponse:
    return wire.request("POST", UNITS, *(headers or (JSON_HEADER,)), body=body)


def test_a_body_above_the_maximum_size_is_refused(api: ProductProcess, wire: RawConnection) -> None:
    refused(api, post(wire, BODY.ljust(LARGEST)), 409)
    refused(api, post(wire, BODY.ljust(LARGEST + 1)), 413)


def test_a_body_without_a_length_is_cut_off_at_the_same_size(
    api: ProductProcess, wire: RawConnection
) -> None:
    body = BODY.ljust(LARGEST + 1)
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    refused(api, wire.send(CHUNKED + chunk)[0], 413)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" ", b"[]", b'"text"', b"null", b"{", b"{}{}", b"{'a': 1}", b"\xef\xbb\xbf{}"),
        *(BODY.replace(b"trainer", b"\xff\xfe"), BODY.decode().encode("utf-16")),
        *(BODY.replace(b'"trainer"', each) for each in (b"1e400", b"-1e400", b"NaN", b"Infinity")),
        *(BODY.replace(b'"trainer"', each) for each in (b"9" * 5000, b"1e999999999", b"-0.0e-5")),
        *(BODY.replace(b'"trainer"', each) for each in (b'"\\ud800"', b'"\\u0000"', b'"a\nb"')),
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
def test_a_body_that_cannot_be_used_is_refused(
    api: ProductProcess, wire: RawConnection, body: bytes
) -> None:
    refused(api, post(wire, body), 400)


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
def test_a_body_of_another_type_is_refused(
    api: ProductProcess, wire: RawConnection, header: str
) -> None:
    refused(api, post(wire, BODY, header), 400, 415)


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
def test_a_path_that_means_harm_is_refused(
    api: ProductProcess, wire: RawConnection, path: str
) -> None:
    place = f"{UNITS}{path}" if path.startswith("?") else f"{UNITS}/{path}"
    refused(api, wire.request("GET", place), 400, 404)


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
    refused(api, wire.send(raw)[0], 400, 404, 405)


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
    answer = wire.send(raw)[0]
    refused(api, answer, status)
    assert answer.json["error"]["code"] == "too_large"


def test_requests_in_one_go_are_answered_in_their_order(
    api: ProductProcess, wire: RawConnection
) -> None:
    ids = [f"call-{number}" for number in range(20)]
    raw = [f"GET {UNITS}/x HTTP/1.1\r\nHost: a\r\nX-Request-ID: {each}\r\n\r\n" for each in ids]
    answers = wire.send("".join(raw).encode(), count=len(ids))
    assert [answer.request_id for answer in answers] == ids
    for answer in answers:
        refused(api, answer, 404)


def test_a_request_hidden_in_a_body_is_not_answered(wire: RawConnection) -> None:
    hidden = b"GET /api/v1/hidden HTTP/1.1\r\nHost: a\r\n\r\n"
    head = f"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: {len(hidden)}\r\n\r\n".encode()
    last = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    assert wire.send_and_read_all(head + hidden + last).count(b"HTTP/1.1 200 OK") == 2


def test_nonsense_after_a_sound_request_ends_the_connection(wire: RawConnection) -> None:
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
    refused(api, wire.request("PUT", f"{UNITS}/x", f"{header}: {FORGED}", body=b"{}"), 400, 415)


def test_neither_a_path_nor_a_method_can_forge_the_log(
    api: ProductProcess, wire: RawConnection
) -> None:
    refused(api, wire.request("GET", f"{UNITS}/%0Alevel=error%20event=forged%1b%5b31m"), 404)
    refused(api, wire.request("event=forged", UNITS), 400, 405)


def test_a_body_cannot_forge_the_log(api: ProductProcess, wire: RawConnection) -> None:
    refused(api, post(wire, json.dumps({**UNIT, "name": FORGED, FORGED: 1}).encode()), 400)
    refused(api, post(wire, json.dumps({**UNIT, "operationID": f"o {FORGED}"}).encode()), 400)


def test_headers_that_trickle_in_are_not_waited_for(wire: RawConnection) -> None:
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", wire.port), timeout=1) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        while not is_hung_up_on(slow):
            assert time.monotonic() < begun + TIMEOUT_SECONDS
    assert time.monotonic() - begun > HEAD_SECONDS - 1


def is_hung_up_on(slow: socket.socket) -> bool:
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


def test_connections_that_say_nothing_are_hung_up_on(wire: RawConnection) -> None:
    address = ("127.0.0.1", wire.port)
    silent = [socket.create_connection(address, timeout=TIMEOUT_SECONDS) for _ in range(500)]
    assert wire.request("GET", "/healthz").status == 200
    for each in silent:
        with each:
            assert each.recv(1) == b""


def test_ten_thousand_idle_connections_do_no_harm(api: ProductProcess, wire: RawConnection) -> None:
    number = min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES)
    process = psutil.Process(api.process.pid)
    before = process.memory_info().rss
    with ExitStack() as idle:
        first = time.monotonic()
        for opened in range(number):
            if time.monotonic() > first + KEEPALIVE_SECONDS / 2:
                number = opened  # the server is about to close the first ones
                break
            idle.enter_context(an_idle_connection(wire))
        begun = time.monotonic()
        assert wire.request("GET", "/api/v1/health").status == 200
        assert time.monotonic() - begun < HEALTH_SECONDS
        assert process.num_fds() > number
        assert process.memory_info().rss - before < LARGEST_CONNECTION * number
    asyncio.run(eventually(lambda: asyncio.to_thread(process.num_fds), SPARE_FILES.__gt__))


def an_idle_connection(wire: RawConnection) -> socket.socket:
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
    place = draw(st.integers(0, len(BODY)))
    return BODY[:place] + draw(st.binary(max_size=8)) + BODY[place + draw(st.integers(0, 8)) :]


def changed(part: dict[str, Any]) -> bytes:
    """Generate a valid body with some fields replaced."""
    return json.dumps({**UNIT, **part}).encode()


BODIES = (
    st.binary(max_size=300)
    | damaged()
    | VALUES.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(FIELDS, VALUES, max_size=3).map(changed)
)


def test_no_request_body_causes_a_server_error(wire: RawConnection, api: ProductProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", wire.port, timeout=TIMEOUT_SECONDS)

    @settings(max_examples=400)
    @given(BODIES)
    def attempt(body: bytes) -> None:
        connection.request("POST", UNITS, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert 400 <= response.status < 500
        assert answer["error"]["code"]

    attempt()
    connection.close()
    assert not [
        line for line in log_lines.parse_log(api.process.log_path) if line["level"] == "error"
    ]
