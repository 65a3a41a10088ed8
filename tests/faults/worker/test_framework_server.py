"""A framework server on its socket: permissions, accepted requests, and an echo with attributes."""

import stat
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from serverless.framework.echo import echo
from serverless.framework.server import create_app, serving
from serverless.worker.framework.client import FrameworkEndpoint, open_framework_client
from serverless.worker.framework.request import request_headers
from serverless.worker.framework.result import FrameworkResponse, FrameworkResult, NoResponse
from serverless.worker.memory_budget import MemoryBudgets
from shared.invocation.limits import MAX_ATTRIBUTE_BYTES
from shared.invocation.record import InvocationRecord, InvocationRequest
from shared.invocation.state import InvocationState


@pytest.fixture
async def socket() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        yield Path(folder) / "shared" / "framework.sock"


async def invoke_echo(socket: Path, attempt: int = 1, **attributes: Any) -> FrameworkResult:
    """Return the result of the echo function for a worker."""
    record = InvocationRecord(
        function_uid="uid",
        hash="h",
        accepted_at=0,
        request=InvocationRequest(content_type="text/plain", attributes=attributes),
        state=InvocationState.RUNNING,
        attempts=attempt,
    )
    async with open_framework_client(FrameworkEndpoint(str(socket))) as framework:
        return await framework.invoke(
            request_headers("fn.i", record), b"hello", MemoryBudgets().for_attempt()
        )


async def test_only_the_owner_and_the_group_may_connect(socket: Path) -> None:
    async with serving(create_app(echo, {}), socket):
        assert mode(socket) == 0o660
        assert mode(socket.parent) & 0o007 == 0


async def test_the_socket_of_a_crashed_framework_is_replaced(socket: Path) -> None:
    for _ in range(2):
        async with serving(create_app(echo, {}), socket):
            assert isinstance(await invoke_echo(socket), FrameworkResponse)
    assert isinstance(await invoke_echo(socket), NoResponse)


async def test_attributes_of_the_maximum_size_reach_the_framework(socket: Path) -> None:
    attributes: dict[str, Any] = {"a": "😀" * 1020}
    assert MAX_ATTRIBUTE_BYTES - 20 < len(msgspec.json.encode(attributes)) <= MAX_ATTRIBUTE_BYTES
    async with serving(create_app(echo, {}), socket):
        assert await invoke_echo(socket, **attributes) == FrameworkResponse(
            200, "text/plain", {}, b"hello"
        )


async def test_the_echo_framework_follows_its_attributes(socket: Path) -> None:
    async with serving(create_app(echo, {}), socket):
        plain = await invoke_echo(socket)
        assert plain == FrameworkResponse(200, "text/plain", {}, b"hello")
        assert await invoke_echo(socket, statusCode=418) == FrameworkResponse(
            418, "text/plain", {}, b"hello"
        )
        assert await invoke_echo(socket, answerBytes=3) == FrameworkResponse(
            200, "text/plain", {}, b"xxx"
        )
        assert await invoke_echo(socket, attempt=2, failAttempts=1, sleepSeconds=0.01) == plain
        for attributes in ({"failRetryably": "so"}, {"failAttempts": 1}):
            failed = await invoke_echo(socket, **attributes)
            assert isinstance(failed, FrameworkResponse)
            assert (failed.status, failed.is_retryable) == (500, True)
        failed = await invoke_echo(socket, fail="so")
        assert isinstance(failed, FrameworkResponse)
        assert (failed.is_retryable, failed.body) == (
            False,
            b'{"error": "RequestedFailureError: so"}',
        )


async def test_the_paths_come_from_the_environment_and_other_requests_are_refused(
    socket: Path,
) -> None:
    environment = {"GPU_RUNTIME_INVOKE_PATH": "/run", "GPU_RUNTIME_HEALTH_PATH": "/up"}
    async with (
        serving(create_app(echo, environment), socket),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket))) as session,
    ):
        async with session.get("http://framework/up") as response:
            assert response.status == 200
        async with session.post("http://framework/run", data=b"x") as response:
            assert response.status == 400
        async with session.post("http://framework/invoke", data=b"x") as response:
            assert response.status == 404


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
