"""Invocations over HTTP, on two replicas and a real queue."""

import asyncio
import hashlib
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
import msgspec
import nats
import pytest
import pytest_asyncio

from apiserver.http.paths import DEAD_LETTERS, FUNCTIONS, INVOCATIONS, invocation_path
from hack.cluster.control_plane import ControlPlane
from shared.invocation import transition
from shared.invocation.limits import DEFAULT_INLINE_BYTES, MIN_INLINE_BYTES
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRecord
from shared.invocation.state import FailureClass, InvocationState
from tests.support.http.api_client import ApiResponse
from tests.support.queue.invocation_api import (
    InvocationApi,
    begin_run,
    new_invocation_api,
    succeed_with,
)
from tests.support.wait.eventually import eventually

COLOURS = ('{"n": 1, "colour": "blue"}', '{"n": 1, "colour": "red"}')

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ingress(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InvocationApi]:
    """Run two API replicas and a queue, without an activator and workers."""
    async with new_invocation_api(
        installed_control_plane, tmp_path_factory.mktemp("ingress")
    ) as made:
        yield made


async def test_an_invocation_is_recorded_whole_and_queued_once(ingress: InvocationApi) -> None:
    name = await ingress.create_function(timeoutSeconds=7, maxAttempts=2)
    answer = await ingress.invoke(
        name,
        invocationID="a-1",
        headers={"X-Colour": "blue"},
        attributes={"n": 1},
        payload={"b": 1, "a": 2},
        ttlSeconds=60,
    )
    assert answer.status == 202
    assert answer.headers["Location"] == invocation_path(name, "a-1")
    assert answer.data["state"] == "queued"
    request = (await ingress.record(name, "a-1")).request
    assert request.body.inline == b'{"a":2,"b":1}'
    assert (request.headers, request.attributes) == ({"x-colour": "blue"}, {"n": 1})
    assert (request.ttl_seconds, request.timeout_seconds, request.max_attempts) == (60, 7, 2)
    assert request.content_type == "application/json"
    assert await ingress.queue.calls.count_unfinished(name) == 1
    assert (await ingress.replica.get(invocation_path(name, "a-1"))).data == answer.data


async def test_many_requests_for_one_id_are_one_invocation_on_all_replicas(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    callers = [ingress.api, ingress.replica] * 8
    same = [ingress.invoke(name, each, invocationID="x", payload=1) for each in callers]
    other = [ingress.invoke(name, each, invocationID="x", payload=2) for each in callers]
    answers = await asyncio.gather(*same, *other)
    assert sorted(each.status for each in answers) == [200] * 15 + [202] + [409] * 16
    assert await ingress.queue.calls.count_unfinished(name) == 1
    assert {each.error["code"] for each in answers if each.status == 409} == {"conflict"}


async def test_a_sync_call_is_answered_once_the_invocation_is_final(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    asked = {"invocationID": "s", "mode": "sync", "waitSeconds": 60, "payload": 1}
    calls = [ingress.invoke(name, each, **asked) for each in (ingress.api, ingress.replica)]
    waiting = asyncio.gather(*calls)
    await eventually(lambda: ingress.queue.calls.count_unfinished(name))
    await ingress.succeed(name, "s", b"hello")
    for answer in await waiting:
        assert answer.status == 200
        assert answer.data["state"] == "succeeded"
        assert answer.data["result"]["body"] == "hello"
        assert (answer.data["queueMilliseconds"], answer.data["runMilliseconds"]) == (10, 20)


async def test_a_sync_call_that_takes_too_long_goes_on_without_its_caller(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    answer = await ingress.invoke(name, mode="sync", waitSeconds=1)
    assert answer.status == 202
    place = answer.headers["Location"]
    waited, _ = await asyncio.gather(
        ingress.replica.get(f"{place}?wait=60"), ingress.succeed(name, answer.data["invocationID"])
    )
    assert waited.data["state"] == "succeeded"


async def test_a_queued_invocation_is_cancelled_at_once_and_a_running_one_soon(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    await ingress.invoke(name, invocationID="queued")
    await ingress.invoke(name, invocationID="running")
    await ingress.apply_transitions(name, "running", begin_run)
    gone = await ingress.api.delete(invocation_path(name, "queued"))
    assert (gone.status, gone.data["state"]) == (200, "cancelled")
    record = await ingress.record(name, "queued")
    assert (record.state, record.published) == (InvocationState.CANCELLED, True)
    assert await ingress.queue.calls.count_unfinished(name) == 1
    going = await ingress.api.delete(invocation_path(name, "running"))
    assert (going.status, going.data["state"]) == (202, "cancelling")
    assert (await ingress.replica.delete(invocation_path(name, "running"))).status == 202
    assert (await ingress.api.delete(invocation_path(name, "queued"))).status_and_code == (
        409,
        "conflict",
    )
    lines = (await ingress.api.text("/metrics")).splitlines()
    assert f'gpuruntime_invocations_accepted_total{{function="{name}"}} 2.0' in lines
    ended = f'{{function="{name}",outcome="cancelled"}} 1.0'
    assert f"gpuruntime_invocations_finished_total{ended}" in lines


async def test_a_cancel_races_the_end_and_only_one_of_them_counts(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    for number in range(10):
        key = f"race-{number}"
        await ingress.invoke(name, invocationID=key)
        outcomes = await asyncio.gather(
            ingress.api.delete(invocation_path(name, key)),
            ingress.replica.delete(invocation_path(name, key)),
            ingress.apply_transitions(name, key, begin_run, succeed_with(b"")),
            return_exceptions=True,
        )
        record = await ingress.record(name, key)
        first, second, _ = outcomes
        assert not isinstance(first, BaseException)
        assert not isinstance(second, BaseException)
        if record.state is InvocationState.SUCCEEDED:
            assert {first.status, second.status} == {409}
        elif record.state is InvocationState.CANCELLED:
            assert sorted((first.status, second.status)) == [200, 409]
        else:
            assert record.state is InvocationState.CANCELLING
            assert 202 in (first.status, second.status)


async def test_a_redriven_invocation_is_a_new_run_with_its_first_request(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    await ingress.invoke(name, invocationID="again", payload="p")
    assert (await ingress.api.post(f"{invocation_path(name, 'again')}/redrive", None)).status == 409
    await ingress.apply_transitions(name, "again", begin_run, given_up)
    answer = await ingress.api.post(f"{invocation_path(name, 'again')}/redrive", None)
    assert (answer.status, answer.data["run"], answer.data["state"]) == (202, 2, "queued")
    record = await ingress.record(name, "again")
    assert (record.attempts, record.request.body.inline) == (0, b'"p"')
    assert await ingress.queue.calls.count_unfinished(name) == 1
    (letter,) = (await ingress.api.get(f"{DEAD_LETTERS}?requestID={name}")).data
    assert (letter["invocationID"], letter["run"], letter["attempts"]) == ("again", 1, 1)


def given_up(record: InvocationRecord) -> InvocationRecord:
    return transition.dead_lettered(record, "no more", FailureClass.ATTEMPTS_EXHAUSTED, 5)


async def raw(ingress: InvocationApi, name: str, body: bytes, query: str = "") -> ApiResponse:
    """Send unmodified bytes as the body of an invocation of a function."""
    return await sent_as(ingress, f"{FUNCTIONS}/{name}/invoke{query}", body, "image/png")


async def sent_as(ingress: InvocationApi, path: str, body: bytes, content_type: str) -> ApiResponse:
    url, headers = ingress.api.url + path, {"Content-Type": content_type}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=io.BytesIO(body), headers=headers) as response,
    ):
        return ApiResponse(response.status, response.headers, await response.json())


async def download(ingress: InvocationApi, name: str, invocation_id: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a result's body, read from the other replica."""
    url = f"{ingress.replica.url}{invocation_path(name, invocation_id)}/body"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status == 200
        assert response.headers["Content-Disposition"] == "attachment"
        return response.content_type, await response.read()


async def body_of(ingress: InvocationApi, name: str, object_name: str) -> bytes:
    return b"".join([chunk async for chunk in ingress.queue.bodies.get(name, object_name)])


@pytest.mark.parametrize("size", [0, 10, 256 * 1024, 256 * 1024 + 1, 5_000_000])
async def test_a_raw_body_of_any_size_arrives_as_it_was(ingress: InvocationApi, size: int) -> None:
    name = await ingress.create_function()
    sent = hashlib.shake_128(b"seed").digest(size)
    answer = await raw(ingress, name, sent, "?invocationID=raw")
    assert answer.status == 202
    request = (await ingress.record(name, "raw")).request
    assert (request.content_type, request.body.size) == ("image/png", size)
    assert bool(request.body.object_name) is (size > 256 * 1024)
    kept = request.body.inline
    if request.body.object_name:
        kept = await body_of(ingress, name, request.body.object_name)
    assert kept == sent
    assert (await raw(ingress, name, sent, "?invocationID=raw")).status == 200
    assert (await raw(ingress, name, sent + b".", "?invocationID=raw")).status == 409
    if request.body.object_name:  # the refused request did not replace the accepted one
        assert await body_of(ingress, name, request.body.object_name) == sent


async def test_a_raw_body_takes_its_attributes_along_in_the_query(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    blue, red = ("?" + urlencode({"invocationID": "a", "attributes": each}) for each in COLOURS)
    assert (await raw(ingress, name, b"x", blue)).status == 202
    assert (await ingress.record(name, "a")).request.attributes == {"colour": "blue", "n": 1}
    assert (await raw(ingress, name, b"x", blue.replace("+", ""))).status == 200
    assert (await raw(ingress, name, b"x", red)).status_and_code == (409, "conflict")
    assert (await raw(ingress, name, b"x", "?invocationID=a")).status_and_code == (409, "conflict")
    refused = await raw(ingress, name, b"x", "?attributes=blue")
    assert (refused.status, list(refused.field_errors)) == (400, ["query.attributes"])


async def test_a_large_result_is_streamed_and_a_small_one_is_in_the_record(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    sent = b"0123456789" * 200_000

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(sent), 100_000):
            yield sent[start : start + 100_000]

    await ingress.queue.bodies.put(name, "big", chunks())
    await ingress.invoke(name, invocationID="big")
    await ingress.invoke(name, invocationID="binary")
    await ingress.apply_transitions(name, "big", begin_run, succeed_with(sent, "big"))
    await ingress.apply_transitions(name, "binary", begin_run, succeed_with(b"\xff\x00"))
    result = (await ingress.api.get(invocation_path(name, "big"))).data["result"]
    assert result["bodyBytes"] == len(sent)
    assert result.keys().isdisjoint({"body", "bodyBase64"})
    assert await download(ingress, name, "big") == ("text/plain", sent)
    small = (await ingress.api.get(invocation_path(name, "binary"))).data["result"]
    assert small["bodyBase64"] == "/wA="
    assert await download(ingress, name, "binary") == ("text/plain", b"\xff\x00")
    await ingress.queue.bodies.delete(name, "big")
    assert (await ingress.api.get(f"{invocation_path(name, 'big')}/body")).status == 404


async def test_a_redrive_needs_the_payload_that_was_sent(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    await raw(ingress, name, b"x" * 300_000, "?invocationID=lost")
    await ingress.succeed(name, "lost")
    record = await ingress.record(name, "lost")
    await ingress.queue.bodies.delete(name, record.request.body.object_name)
    answer = await ingress.api.post(f"{invocation_path(name, 'lost')}/redrive", None)
    assert answer.status_and_code == (409, "conflict")


async def test_the_list_is_by_last_change_and_has_an_end(ingress: InvocationApi) -> None:
    name, other = await ingress.create_function(), await ingress.create_function()
    for number in range(7):
        await ingress.invoke(name, invocationID=f"i{number}")
        await ingress.invoke(other, invocationID=f"o{number}")
    for key in ("i3", "i1"):
        await ingress.succeed(name, key)
    found, query = [], f"requestID={name}&limit=3"
    token = ""
    while True:
        page = await ingress.replica.get(f"{INVOCATIONS}?{query}{token}")
        found += [each["invocationID"] for each in page.data]
        if "continue" not in page.meta:
            break
        token = f"&continue={page.meta['continue']}"
    assert found == ["i1", "i3", "i6", "i5", "i4", "i2", "i0"]
    done = await ingress.api.get(f"{INVOCATIONS}?requestID={name}&state=succeeded&limit=1")
    assert [each["invocationID"] for each in done.data] == ["i1"]
    everything = await ingress.api.get(f"{INVOCATIONS}?limit=500")
    assert {name, other} <= {each["requestID"] for each in everything.data}
    assert (await ingress.api.get(f"{INVOCATIONS}?continue=never")).status == 400


async def test_a_full_queue_takes_no_more_but_answers_replays(ingress: InvocationApi) -> None:
    name = await ingress.create_function(maxQueued=2)
    for number in range(2):
        assert (await ingress.invoke(name, invocationID=f"q{number}")).status == 202
    full = await eventually(lambda: ingress.invoke(name), lambda answer: answer.status == 429)
    assert full.error["code"] == "queue_full"
    assert (await ingress.invoke(name, invocationID="q0")).status == 200


async def test_invocations_of_an_earlier_function_of_the_name_are_not_found(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    await ingress.invoke(name, invocationID="old", payload=1)
    await ingress.succeed(name, "old")
    assert (await ingress.api.delete(f"{FUNCTIONS}/{name}?purge=true")).status == 204
    await eventually(
        lambda: ingress.api.get(invocation_path(name, "old")), lambda answer: answer.status == 404
    )
    again = {"operationID": f"{name}-again", "name": name, "specName": "g1.1", "image": "a"}
    assert (await ingress.api.post(FUNCTIONS, again)).status == 201
    assert (await ingress.api.get(invocation_path(name, "old"))).status == 404
    fresh = await ingress.invoke(name, invocationID="old", payload=2)
    assert (fresh.status, fresh.data["state"]) == (202, "queued")


@pytest.mark.parametrize("is_ascii", [True, False])
async def test_a_raw_body_takes_as_much_along_as_any_other(
    ingress: InvocationApi, is_ascii: bool
) -> None:
    name = await ingress.create_function()
    headers = {f"x-{number}": "%" * 35 for number in range(100)}
    attributes = {"text": "é" * 2040}
    assert len(msgspec.json.encode(attributes)) > 4090
    given = {
        "headers": json.dumps(headers),
        "attributes": json.dumps(attributes, ensure_ascii=is_ascii),
    }
    path = f"?invocationID=full&{urlencode(given)}"
    answer = await raw(ingress, name, b"x", path)
    assert answer.status == 202, answer.body
    request = (await ingress.record(name, "full")).request
    assert (request.headers, request.attributes) == (headers, attributes)
    again: dict[str, Any] = {"headers": headers, "attributes": attributes, "payloadBase64": "eA=="}
    same = await ingress.invoke(name, invocationID="full", contentType="image/png", **again)
    assert same.status == 200, same.body


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"invocationID": "a b"}, "invocationID"),
        ({"invocationID": "x" * 65}, "invocationID"),
        ({"invocationID": "a.b"}, "invocationID"),
        ({"invocationID": "é"}, "invocationID"),
        ({"invocationID": ""}, "invocationID"),
        ({"mode": "later"}, "mode"),
        ({"ttlSeconds": 0}, "ttlSeconds"),
        ({"ttlSeconds": -1}, "ttlSeconds"),
        ({"ttlSeconds": 72 * 3600}, "ttlSeconds"),
        ({"waitSeconds": 0}, "waitSeconds"),
        ({"waitSeconds": 301}, "waitSeconds"),
        ({"waitSeconds": 10**18}, "waitSeconds"),
        ({"contentType": "text/plain\r\nX-Run: 9"}, "contentType"),
        ({"headers": {"X-Run": "9"}}, "headers['x-run']"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "headers['transfer-encoding']"),
        ({"headers": {"a": "b\r\nX-Run: 9"}}, "headers['a']"),
        ({"headers": {"a b": "c"}}, "headers['a b']"),
        ({"headers": {"A": "1", "a": "2"}}, "headers"),
        ({"headers": {"a": "x" * 4096}}, "headers"),
        ({"attributes": {"a": "x" * 4096}}, "attributes"),
        ({"attributes": [1]}, "attributes"),
        ({"payloadBase64": "not base64"}, "payloadBase64"),
        ({"payload": 1, "payloadBase64": ""}, "payloadBase64"),
        ({"payloads": 1}, "payloads"),
    ],
)
async def test_bad_input_is_refused_by_field(
    ingress: InvocationApi, asked: dict[str, Any], field: str
) -> None:
    answer = await ingress.invoke("any", **asked)
    assert answer.status == 400
    assert list(answer.field_errors) == [field]


async def test_the_ttl_of_an_invocation_is_at_most_the_record_retention(
    ingress: InvocationApi,
) -> None:
    name, ttl = await ingress.create_function(), {"ttlSeconds": 72 * 3600}
    await ingress.installation.admin.patch(
        ingress.installation.path("functions", name), {"spec": ttl}
    )
    assert (await ingress.invoke(name)).status_and_code == (409, "conflict")
    assert (await ingress.invoke(name, ttlSeconds=60)).status == 202


async def test_new_invocations_are_refused_when_open_records_need_the_remaining_space(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    await ingress.invoke(name, invocationID="large", payload="x" * 200_000)
    await ingress.invoke(name, invocationID="a")
    async with records_limited(ingress, fullness=0.85):
        full = await eventually(lambda: ingress.invoke(name), lambda found: found.status != 202)
        assert full.status_and_code == (429, "queue_full")
        assert "records of invocations" in full.error["message"]
        assert (await ingress.invoke(name, invocationID="a")).status == 200
        assert (await ingress.succeed(name, "a")).is_final
    await eventually(lambda: ingress.invoke(name), lambda found: found.status == 202)


async def test_a_result_may_fill_only_its_share_of_the_room_for_records(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    await ingress.invoke(name, invocationID="ample", payload="x" * 200_000)
    async with records_limited(ingress, fullness=0.2):

        async def granted() -> int:
            answer = await ingress.invoke(name)
            return (await ingress.record(name, answer.data["invocationID"])).request.inline_bytes

        assert (
            await eventually(granted, lambda share: share < DEFAULT_INLINE_BYTES)
            >= MIN_INLINE_BYTES
        )
        await ingress.succeed(name, "ample")
        await ingress.api.post(f"{invocation_path(name, 'ample')}/redrive", None)
        assert (await ingress.record(name, "ample")).request.inline_bytes < DEFAULT_INLINE_BYTES


@asynccontextmanager
async def records_limited(ingress: InvocationApi, fullness: float) -> AsyncIterator[None]:
    """Limit the records bucket for the length of the block so that it is full to this fraction."""
    stream = f"KV_{QueueNames().record_bucket}"
    async with await nats.connect(ingress.nats_server.admin_url) as client:
        info = await client.jetstream().stream_info(stream)
        limited = int(info.state.bytes / fullness)
        try:
            await client.jetstream().update_stream(info.config, max_bytes=limited)
            yield
        finally:
            await client.jetstream().update_stream(info.config, max_bytes=info.config.max_bytes)


async def test_an_absent_function_or_invocation_is_not_found(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    assert (await ingress.invoke("nobody")).status_and_code == (404, "not_found")
    assert (await raw(ingress, "nobody", b"")).status_and_code == (404, "not_found")
    for path in (
        invocation_path(name, "none"),
        invocation_path("nobody", "x"),
        invocation_path(name, "%2e%2e"),
    ):
        assert (await ingress.api.get(path)).status == 404
        assert (await ingress.api.delete(path)).status == 404
        assert (await ingress.api.post(f"{path}/redrive", None)).status == 404
    body = b'{"payload": "%s"}' % (b"x" * 1024 * 1024)
    large = await sent_as(ingress, INVOCATIONS, body, "application/json")
    assert large.status_and_code == (413, "too_large")
