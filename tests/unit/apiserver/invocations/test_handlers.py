"""Tests of the invocation routes, through router and middlewares."""

import asyncio

from apiserver.config import RequestLimits
from apiserver.http.paths import FUNCTIONS
from shared.invocation.limits import MAX_PAYLOAD_BYTES
from tests.support.wait.eventually import eventually
from tests.unit.apiserver.in_process_api import run_app
from tests.unit.apiserver.invocations.fake_invocations import FakeAcceptor, FakeInvocations

INVOKE = f"{FUNCTIONS}/echo/invoke"
MAX_UPLOADS = RequestLimits().max_in_flight_bytes // MAX_PAYLOAD_BYTES


async def test_waiting_sync_calls_do_not_use_the_byte_budget_of_uploads() -> None:
    invocations = FakeInvocations()

    async def waiting_count() -> int:
        return invocations.waiting_count

    async with (
        run_app(acceptor=FakeAcceptor(), invocations=invocations) as api,
        asyncio.TaskGroup() as group,
    ):
        calls = [
            api.request("POST", f"{INVOKE}?mode=sync", b"of any length") for _ in range(MAX_UPLOADS)
        ]
        waiters = [group.create_task(call) for call in calls]
        await eventually(waiting_count, lambda count: count == MAX_UPLOADS)
        response = await api.request("POST", INVOKE, b"of any length")
        invocations.finish.set()
    assert response.status == 202, response.json
    assert {waiter.result().status for waiter in waiters} == {200}
