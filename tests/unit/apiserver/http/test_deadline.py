"""Tests of the deadline of a request's response."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiserver.errors import DeadlineExceededError
from apiserver.http.deadline import DEADLINE, Deadline, RequestTimeLimits, deadline_middleware


async def test_reading_the_body_does_not_use_the_time_of_the_response() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(0.0) as scope:
        deadline = Deadline(RequestTimeLimits(10.0, 5.0), scope)
        async with deadline.body_time_limit():
            assert scope.when() is None
            received = loop.time()
        deadline_at = scope.when()
    assert deadline_at is not None
    assert received + 10.0 <= deadline_at <= loop.time() + 10.0


async def test_reading_the_body_has_its_own_time_limit() -> None:
    async with asyncio.timeout(None) as scope:
        with pytest.raises(TimeoutError):
            async with Deadline(RequestTimeLimits(10.0, 0.0), scope).body_time_limit():
                await asyncio.get_running_loop().create_future()


async def test_a_restarted_deadline_starts_at_the_restart() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as scope:
        before = loop.time()
        Deadline(RequestTimeLimits(10.0), scope).restart(60.0)
        await asyncio.sleep(0)
        deadline_at = scope.when()
    assert deadline_at is not None
    assert before + 70.0 <= deadline_at <= loop.time() + 70.0


async def test_a_disabled_deadline_never_expires() -> None:
    async with asyncio.timeout(10.0) as scope:
        Deadline(RequestTimeLimits(10.0), scope).disable()
        await asyncio.sleep(0)
        assert scope.when() is None


async def test_a_request_that_exceeds_its_deadline_gets_an_error() -> None:
    async def hangs(_: web.Request) -> web.StreamResponse:
        await asyncio.get_running_loop().create_future()
        return web.Response()

    with pytest.raises(DeadlineExceededError):
        await deadline_middleware(RequestTimeLimits(0.0))(make_mocked_request("GET", "/"), hangs)


async def test_a_timeout_inside_a_handler_is_not_the_request_deadline() -> None:
    async def fails(request: web.Request) -> web.StreamResponse:
        assert request[DEADLINE].limits == RequestTimeLimits(5.0)
        raise TimeoutError("inner timeout")

    with pytest.raises(TimeoutError, match="inner timeout"):
        await deadline_middleware(RequestTimeLimits(5.0))(make_mocked_request("GET", "/"), fails)
