"""Requests on a real socket: unusual paths, slow bodies, clients that disconnect."""

import asyncio
import gzip
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry

from apiserver.http.access_log import AccessLog
from apiserver.http.deadline import RequestTimeLimits
from apiserver.http.protocol import FallbackResponder
from apiserver.http.server import serve
from apiserver.operations.result import OperationResult, ResultKind
from apiserver.units.commands import CreateUnit
from shared.config.address import Address
from shared.config.logfmt import LogfmtFormatter
from shared.v1alpha1.gpuunit import GPUUnit
from tests.unit.apiserver.fake_services import FakeJobService, FakeUnitService
from tests.unit.apiserver.in_process_api import TIME_LIMITS, new_app
from tests.unit.apiserver.objects import new_job, new_unit

UNITS = "/api/v1/gpu-units"
BODY = json.dumps(
    {"operationID": "o-1", "name": "trainer", "specName": "g1.1", "image": "example/app:1"}
).encode()
POST = (
    f"POST {UNITS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(BODY)}\r\n\r\n"
).encode()


class SlowUnits(FakeUnitService):
    """A unit service that creates a unit only when the test permits."""

    def __init__(self) -> None:
        super().__init__({"trainer": new_unit()})
        self.started, self.permitted = asyncio.Event(), asyncio.Event()

    async def create(self, command: CreateUnit) -> OperationResult[GPUUnit]:
        self.started.set()
        await self.permitted.wait()
        self.calls.append(command)
        return OperationResult(new_unit(), ResultKind.NEW)


@dataclass(frozen=True)
class Server:
    """An API server of ours that runs in this process."""

    port: int

    async def send(self, raw: bytes) -> tuple[int, bytes]:
        """Send bytes; return the status and all bytes until the end of the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        async with asyncio.timeout(60):
            writer.write(raw)
            received = await reader.read()
        writer.close()
        await writer.wait_closed()
        return int(received.split(b" ", 2)[1]), received

    async def get(self, path: str) -> tuple[int, bytes]:
        return await self.send(
            b"GET " + path.encode("latin-1") + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )


@asynccontextmanager
async def run_server(
    port: int, units: FakeUnitService, time_limits: RequestTimeLimits = TIME_LIMITS
) -> AsyncIterator[Server]:
    app = new_app(time_limits, units=units, jobs=FakeJobService({"fn/uid/3": new_job("fn/uid/3")}))
    fallback = FallbackResponder(
        AccessLog(CollectorRegistry()), lambda: "id", head_timeout_seconds=60.0
    )
    async with serve(app, Address("127.0.0.1", port), fallback):
        yield Server(port)


@pytest.fixture(name="log")
def _log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogfmtFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    level = root.level
    root.setLevel(logging.INFO)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.mark.parametrize(
    "name",
    [
        *("a%2Fb", "..%2f..%2fsecrets", "%2e%2e", "..", ".", "%00", "a%00b", "a%0d%0ab", "%"),
        *("%zz", "%c3%28", "%ff%fe", "tr%D0%B0iner", "trainer%20", "trainer.", "TRAINER"),
        *("a" * 64, "a" * 4000, "%F0%9F%98%80", "trainer;x=1", "{name}", "trainer%23x", "-"),
        *("trainer%3Fwait=Ready", "trainer%0a", "trainer/", "trainer/status", "//trainer"),
    ],
)
async def test_an_unusual_path_gets_a_clear_error(unused_tcp_port: int, name: str) -> None:
    async with run_server(unused_tcp_port, FakeUnitService({"trainer": new_unit()})) as server:
        status, received = await server.get(f"{UNITS}/{name}")
    assert status in (400, 404)
    body = json.loads(received.partition(b"\r\n\r\n")[2])
    assert body["error"]["code"] in ("invalid_request", "not_found")


@pytest.mark.parametrize(
    "query",
    [
        *("limit=%ff", "label=%00", "label=%ff%fe", "phase=%0a", "%", "%ff=1", "a=%zz", "&&=&"),
        *("limit=1;limit=2", "specName=" + "a" * 4000, "limit[]=1", "continue=%00"),
    ],
)
async def test_an_unusual_query_gets_a_clear_error(unused_tcp_port: int, query: str) -> None:
    async with run_server(unused_tcp_port, FakeUnitService()) as server:
        status, received = await server.get(f"{UNITS}?{query}")
    assert status == 400
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["details"]


@pytest.mark.parametrize(
    "headers_and_body",
    [
        b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        b"Content-Encoding: deflate\r\nContent-Length: 4\r\n\r\nabcd",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}garbage",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    ],
    ids=["gzip", "deflate", "chunk size", "chunk end", "two lengths"],
)
async def test_a_body_with_an_invalid_encoding_is_an_invalid_request(
    unused_tcp_port: int, headers_and_body: bytes
) -> None:
    head = f"POST {UNITS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".encode()
    async with run_server(unused_tcp_port, FakeUnitService()) as server:
        status, _ = await server.send(
            head + b"Content-Type: application/json\r\n" + headers_and_body
        )
    assert status == 400


async def test_a_small_body_that_decompresses_to_a_large_one_is_refused(
    unused_tcp_port: int,
) -> None:
    body = gzip.compress(b" " * 10_000_000)
    head = (
        f"POST {UNITS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: gzip\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    async with run_server(unused_tcp_port, FakeUnitService()) as server:
        status, _ = await server.send(head.encode() + body)
    assert status == 413


async def test_an_encoded_slash_is_part_of_an_operation_id(unused_tcp_port: int) -> None:
    async with run_server(unused_tcp_port, FakeUnitService()) as server:
        status, received = await server.get("/api/v1/operator/jobs/fn%2Fuid%2F3")
    assert status == 200
    assert b'"operationID":"fn/uid/3"' in received


@pytest.mark.parametrize(
    "path",
    [
        f"{UNITS}/a%0alevel=error%20event=forged",
        f"{UNITS}/a%0d%0alevel=error%20event=forged",
        f"{UNITS}/%1b%5b31mred",
        f"{UNITS}?a%0aevent=forged=1",
        f"{UNITS}/%E2%80%A8event=forged",
    ],
)
async def test_a_path_cannot_forge_a_log_line(
    unused_tcp_port: int, path: str, log: io.StringIO
) -> None:
    async with run_server(unused_tcp_port, FakeUnitService()) as server:
        await server.get(path)
    lines = [line for line in log.getvalue().splitlines() if "event=http_request" in line]
    assert len(lines) == 1
    assert not [line for line in log.getvalue().splitlines() if not line.startswith("ts=")]
    assert "\x1b" not in log.getvalue()
    assert "\u2028" not in log.getvalue()


async def test_a_header_cannot_forge_a_log_line(unused_tcp_port: int, log: io.StringIO) -> None:
    raw = f"GET {UNITS} HTTP/1.1\r\nHost: a\r\nX-Request-ID: a event=forged\r\n\r\n".encode()
    raw = raw.replace(b"Host: a", b"Host: a\r\nConnection: close")
    async with run_server(unused_tcp_port, FakeUnitService()) as server:
        await server.send(raw)
    assert "forged" not in log.getvalue()


async def test_an_incomplete_body_gets_408_and_the_connection_is_closed(
    unused_tcp_port: int,
) -> None:
    time_limits = RequestTimeLimits(5.0, 0.1)
    async with run_server(unused_tcp_port, FakeUnitService(), time_limits) as server:
        status, received = await server.send(POST + BODY[:10])
    assert status == 408
    assert b"Connection: close" in received


async def test_a_body_that_arrives_too_slowly_gets_408(unused_tcp_port: int) -> None:
    async with (
        run_server(unused_tcp_port, FakeUnitService(), RequestTimeLimits(5.0, 0.2)),
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
        status_line = group.create_task(reader.readline())
        writer.write(POST)
        for byte in BODY[:-1]:
            writer.write(bytes([byte]))
            await asyncio.wait([status_line], timeout=0.02)
            if status_line.done():
                break
        assert (await status_line).startswith(b"HTTP/1.1 408 ")
        writer.transport.abort()


async def test_a_client_that_disconnects_does_not_cancel_its_create(
    unused_tcp_port: int,
) -> None:
    units = SlowUnits()
    async with run_server(unused_tcp_port, units), asyncio.timeout(60):
        _, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
        writer.write(POST + BODY)
        await units.started.wait()
        writer.transport.abort()
        units.permitted.set()
    assert [command.name for command in units.calls] == ["trainer"]


async def test_a_stop_waits_for_a_create_whose_request_timed_out(unused_tcp_port: int) -> None:
    units = SlowUnits()
    async with run_server(unused_tcp_port, units, RequestTimeLimits(0.05)) as server:
        raw = POST.replace(b"Host: a", b"Host: a\r\nConnection: close") + BODY
        status, _ = await server.send(raw)
        assert status == 504
        asyncio.get_running_loop().call_later(0.1, units.permitted.set)  # after the stop has begun
    assert len(units.calls) == 1


async def test_a_waiting_request_gets_its_response_when_the_server_stops(
    unused_tcp_port: int,
) -> None:
    class WaitingUnits(FakeUnitService):
        async def wait_ready(self, name: str, seconds: float) -> GPUUnit:
            started.set()
            await asyncio.sleep(seconds)
            raise AssertionError("it waited to the end")

    started = asyncio.Event()
    units = WaitingUnits({"trainer": new_unit()})
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        async with run_server(unused_tcp_port, units) as server:
            response = group.create_task(server.get(f"{UNITS}/trainer?wait=Ready"))
            await started.wait()
        status, _ = await response
    assert status == 200
