"""Invocations over HTTP, on two replicas and a real queue."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from apiserver.places import DEAD_LETTERS, INVOCATIONS, invocation
from hack.cluster.controlplane import ControlPlane
from shared.invocation.record import Record
from shared.invocation.state import FailureClass, State
from tests.support.eventually import eventually
from tests.support.ingress import Ingress, begin, new_ingress, succeeded_with

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ingress(
    installed: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ingress]:
    """Two replicas and a queue, without activator and workers."""
    async with new_ingress(installed, tmp_path_factory.mktemp("ingress")) as made:
        yield made


async def test_an_invocation_is_recorded_whole_and_queued_once(ingress: Ingress) -> None:
    name = await ingress.function(timeoutSeconds=7, maxAttempts=2)
    answer = await ingress.invoke(
        name,
        invocationID="a-1",
        headers={"X-Colour": "blue"},
        attributes={"n": 1},
        payload={"b": 1, "a": 2},
        ttlSeconds=60,
    )
    assert answer.status == 202
    assert answer.headers["Location"] == invocation(name, "a-1")
    assert answer.data["state"] == "queued"
    request = (await ingress.record(name, "a-1")).request
    assert request.body.inline == b'{"a":2,"b":1}'
    assert (request.headers, request.attributes) == ({"x-colour": "blue"}, {"n": 1})
    assert (request.ttl_seconds, request.timeout_seconds, request.max_attempts) == (60, 7, 2)
    assert request.content_type == "application/json"
    assert await ingress.queue.calls.held(name) == 1
    assert (await ingress.replica.get(invocation(name, "a-1"))).data == answer.data


async def test_many_requests_for_one_id_are_one_invocation_on_all_replicas(
    ingress: Ingress,
) -> None:
    name = await ingress.function()
    callers = [ingress.api, ingress.replica] * 8
    same = [ingress.invoke(name, each, invocationID="x", payload=1) for each in callers]
    other = [ingress.invoke(name, each, invocationID="x", payload=2) for each in callers]
    answers = await asyncio.gather(*same, *other)
    assert sorted(each.status for each in answers) == [200] * 15 + [202] + [409] * 16
    assert await ingress.queue.calls.held(name) == 1
    assert {each.error["code"] for each in answers if each.status == 409} == {"conflict"}


async def test_a_sync_call_is_answered_by_whoever_ends_it(ingress: Ingress) -> None:
    name = await ingress.function()
    asked = {"invocationID": "s", "mode": "sync", "waitSeconds": 60, "payload": 1}
    calls = [ingress.invoke(name, each, **asked) for each in (ingress.api, ingress.replica)]
    waiting = asyncio.gather(*calls)
    await eventually(lambda: ingress.queue.calls.held(name))
    await ingress.succeed(name, "s", b"hello")
    for answer in await waiting:
        assert answer.status == 200
        assert answer.data["state"] == "succeeded"
        assert answer.data["result"]["body"] == "hello"
        assert (answer.data["queueMilliseconds"], answer.data["runMilliseconds"]) == (10, 20)


async def test_a_sync_call_that_takes_too_long_goes_on_without_its_caller(
    ingress: Ingress,
) -> None:
    name = await ingress.function()
    answer = await ingress.invoke(name, mode="sync", waitSeconds=1)
    assert answer.status == 202
    place = answer.headers["Location"]
    waiting = asyncio.ensure_future(ingress.replica.get(f"{place}?wait=60"))
    await ingress.succeed(name, answer.data["invocationID"])
    assert (await waiting).data["state"] == "succeeded"


async def test_a_queued_invocation_is_cancelled_at_once_and_a_running_one_soon(
    ingress: Ingress,
) -> None:
    name = await ingress.function()
    await ingress.invoke(name, invocationID="queued")
    await ingress.invoke(name, invocationID="running")
    await ingress.change(name, "running", begin)
    gone = await ingress.api.delete(invocation(name, "queued"))
    assert (gone.status, gone.data["state"]) == (200, "cancelled")
    record = await ingress.record(name, "queued")
    assert (record.state, record.published) == (State.CANCELLED, True)
    assert await ingress.queue.calls.held(name) == 1
    going = await ingress.api.delete(invocation(name, "running"))
    assert (going.status, going.data["state"]) == (202, "cancelling")
    assert (await ingress.replica.delete(invocation(name, "running"))).status == 202
    assert (await ingress.api.delete(invocation(name, "queued"))).refusal == (409, "conflict")


async def test_a_cancel_races_the_end_and_only_one_of_them_counts(ingress: Ingress) -> None:
    name = await ingress.function()
    for number in range(10):
        key = f"race-{number}"
        await ingress.invoke(name, invocationID=key)
        outcomes = await asyncio.gather(
            ingress.api.delete(invocation(name, key)),
            ingress.replica.delete(invocation(name, key)),
            ingress.change(name, key, begin, succeeded_with(b"")),
            return_exceptions=True,
        )
        record = await ingress.record(name, key)
        first, second, _ = outcomes
        assert not isinstance(first, BaseException)
        assert not isinstance(second, BaseException)
        if record.state is State.SUCCEEDED:
            assert {first.status, second.status} == {409}
        elif record.state is State.CANCELLED:
            assert sorted((first.status, second.status)) == [200, 409]
        else:
            assert record.state is State.CANCELLING
            assert 202 in (first.status, second.status)


async def test_a_redriven_invocation_is_a_new_run_with_its_first_request(ingress: Ingress) -> None:
    name = await ingress.function()
    await ingress.invoke(name, invocationID="again", payload="p")
    assert (await ingress.api.post(f"{invocation(name, 'again')}/redrive", None)).status == 409
    await ingress.change(name, "again", begin, given_up)
    answer = await ingress.api.post(f"{invocation(name, 'again')}/redrive", None)
    assert (answer.status, answer.data["run"], answer.data["state"]) == (202, 2, "queued")
    record = await ingress.record(name, "again")
    assert (record.attempts, record.request.body.inline) == (0, b'"p"')
    assert await ingress.queue.calls.held(name) == 1
    (letter,) = (await ingress.api.get(f"{DEAD_LETTERS}?requestID={name}")).data
    assert (letter["invocationID"], letter["run"], letter["attempts"]) == ("again", 1, 1)


def given_up(record: Record) -> Record:
    from shared.invocation import transition

    return transition.dead_lettered(record, "no more", FailureClass.ATTEMPTS_EXHAUSTED, 5)
