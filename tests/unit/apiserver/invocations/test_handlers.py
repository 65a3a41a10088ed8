"""Tests of the invocation routes, through router and middlewares."""

import asyncio

from apiserver.config import RequestLimits
from apiserver.http.paths import FUNCTIONS
from shared.invocation.limits import MAX_PAYLOAD_BYTES
from tests.support.wait.eventually import eventually
from tests.unit.apiserver.in_process_api import run_app
from tests.unit.apiserver.invocations.fake_invocations import FakeAcceptor, FakeInvocations

INVOKE = f"{FUNCTIONS}/echo/invoke"
AT_ONCE = RequestLimits().max_in_flight_bytes // MAX_PAYLOAD_BYTES


async def test_waiting_sync_calls_do_not_use_the_byte_budget_of_uploads() -> None:
    invocations = FakeInvocations()

    async def waiting() -> int:
        return invocations.waiting_count

    async with (
        run_app(acceptor=FakeAcceptor(), invocations=invocations) as api,
        asyncio.TaskGroup() as group,
    ):
        calls = [
            api.request("POST", f"{INVOKE}?mode=sync", b"of any length") for _ in range(AT_ONCE)
        ]
        waiters = [group.create_task(call) for call in calls]
        await eventually(waiting, lambda count: count == AT_ONCE)
        answer = await api.request("POST", INVOKE, b"of any length")
        invocations.finish.set()
    assert answer.status == 202, answer.json
    assert {each.result().status for each in waiters} == {200}
