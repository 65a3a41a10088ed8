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
async def system(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InvocationApi]:
    """Run two API replicas and a queue, without an activator and workers."""
    async with new_invocation_api(
        installed_control_plane, tmp_path_factory.mktemp("ingress")
    ) as created:
        yield created


async def test_an_invocation_is_recorded_with_all_fields_and_queued_once(
    system: InvocationApi,
) -> None:
    name = await system.create_function(timeoutSeconds=7, maxAttempts=2)
    response = await system.invoke(
        name,
        invocationID="a-1",
        headers={"X-Colour": "blue"},
        attributes={"n": 1},
        payload={"b": 1, "a": 2},
        ttlSeconds=60,
    )
    assert response.status == 202
    assert response.headers["Location"] == invocation_path(name, "a-1")
    assert response.data["state"] == "queued"
    request = (await system.record(name, "a-1")).request
    assert request.body.inline == b'{"a":2,"b":1}'
    assert (request.headers, request.attributes) == ({"x-colour": "blue"}, {"n": 1})
    assert (request.ttl_seconds, request.timeout_seconds, request.max_attempts) == (60, 7, 2)
    assert request.content_type == "application/json"
    assert await system.queue.calls.count_unfinished(name) == 1
    assert (await system.replica.get(invocation_path(name, "a-1"))).data == response.data


async def test_concurrent_requests_with_one_id_are_one_invocation_on_all_replicas(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    callers = [system.api, system.replica] * 8
    same = [system.invoke(name, caller, invocationID="x", payload=1) for caller in callers]
    other = [system.invoke(name, caller, invocationID="x", payload=2) for caller in callers]
    responses = await asyncio.gather(*same, *other)
    assert sorted(response.status for response in responses) == [200] * 15 + [202] + [409] * 16
    assert await system.queue.calls.count_unfinished(name) == 1
    assert {response.error["code"] for response in responses if response.status == 409} == {
        "conflict"
    }


async def test_the_response_to_a_sync_call_comes_when_the_invocation_is_final(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    request = {"invocationID": "s", "mode": "sync", "waitSeconds": 60, "payload": 1}
    calls = [system.invoke(name, api, **request) for api in (system.api, system.replica)]
    waiting = asyncio.gather(*calls)
    await eventually(lambda: system.queue.calls.count_unfinished(name))
    await system.succeed(name, "s", b"hello")
    for response in await waiting:
        assert response.status == 200
        assert response.data["state"] == "succeeded"
        assert response.data["result"]["body"] == "hello"
        assert (response.data["queueMilliseconds"], response.data["runMilliseconds"]) == (10, 20)


async def test_an_invocation_continues_after_its_sync_call_timed_out(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    response = await system.invoke(name, mode="sync", waitSeconds=1)
    assert response.status == 202
    path = response.headers["Location"]
    waited, _ = await asyncio.gather(
        system.replica.get(f"{path}?wait=60"), system.succeed(name, response.data["invocationID"])
    )
    assert waited.data["state"] == "succeeded"


async def test_a_queued_invocation_is_cancelled_at_once_and_a_running_one_soon(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await system.invoke(name, invocationID="queued")
    await system.invoke(name, invocationID="running")
    await system.apply_transitions(name, "running", begin_run)
    cancelled = await system.api.delete(invocation_path(name, "queued"))
    assert (cancelled.status, cancelled.data["state"]) == (200, "cancelled")
    record = await system.record(name, "queued")
    assert (record.state, record.published) == (InvocationState.CANCELLED, True)
    assert await system.queue.calls.count_unfinished(name) == 1
    cancelling = await system.api.delete(invocation_path(name, "running"))
    assert (cancelling.status, cancelling.data["state"]) == (202, "cancelling")
    assert (await system.replica.delete(invocation_path(name, "running"))).status == 202
    assert (await system.api.delete(invocation_path(name, "queued"))).status_and_code == (
        409,
        "conflict",
    )
    lines = (await system.api.text("/metrics")).splitlines()
    assert f'gpuruntime_invocations_accepted_total{{function="{name}"}} 2.0' in lines
    labels = f'{{function="{name}",outcome="cancelled"}} 1.0'
    assert f"gpuruntime_invocations_finished_total{labels}" in lines


async def test_a_concurrent_cancel_and_end_of_an_invocation_have_one_outcome(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    for number in range(10):
        key = f"race-{number}"
        await system.invoke(name, invocationID=key)
        outcomes = await asyncio.gather(
            system.api.delete(invocation_path(name, key)),
            system.replica.delete(invocation_path(name, key)),
            system.apply_transitions(name, key, begin_run, succeed_with(b"")),
            return_exceptions=True,
        )
        record = await system.record(name, key)
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


async def test_a_redriven_invocation_is_a_new_run_with_the_original_request(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await system.invoke(name, invocationID="again", payload="p")
    assert (await system.api.post(f"{invocation_path(name, 'again')}/redrive", None)).status == 409
    await system.apply_transitions(name, "again", begin_run, dead_letter)
    response = await system.api.post(f"{invocation_path(name, 'again')}/redrive", None)
    assert (response.status, response.data["run"], response.data["state"]) == (202, 2, "queued")
    record = await system.record(name, "again")
    assert (record.attempts, record.request.body.inline) == (0, b'"p"')
    assert await system.queue.calls.count_unfinished(name) == 1
    (letter,) = (await system.api.get(f"{DEAD_LETTERS}?requestID={name}")).data
    assert (letter["invocationID"], letter["run"], letter["attempts"]) == ("again", 1, 1)


def dead_letter(record: InvocationRecord) -> InvocationRecord:
    return transition.dead_lettered(record, "no more", FailureClass.ATTEMPTS_EXHAUSTED, 5)


async def invoke_raw(system: InvocationApi, name: str, body: bytes, query: str = "") -> ApiResponse:
    """Send unmodified bytes as the body of an invocation of a function."""
    return await post_bytes(system, f"{FUNCTIONS}/{name}/invoke{query}", body, "image/png")


async def post_bytes(
    system: InvocationApi, path: str, body: bytes, content_type: str
) -> ApiResponse:
    url, headers = system.api.url + path, {"Content-Type": content_type}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=io.BytesIO(body), headers=headers) as response,
    ):
        return ApiResponse(response.status, response.headers, await response.json())


async def download(system: InvocationApi, name: str, invocation_id: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a result's body, read from the other replica."""
    url = f"{system.replica.url}{invocation_path(name, invocation_id)}/body"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status == 200
        assert response.headers["Content-Disposition"] == "attachment"
        return response.content_type, await response.read()


async def read_body(system: InvocationApi, name: str, object_name: str) -> bytes:
    return b"".join([chunk async for chunk in system.queue.bodies.get(name, object_name)])


@pytest.mark.parametrize("size", [0, 10, 256 * 1024, 256 * 1024 + 1, 5_000_000])
async def test_a_raw_body_of_any_size_is_stored_unchanged(system: InvocationApi, size: int) -> None:
    name = await system.create_function()
    payload = hashlib.shake_128(b"seed").digest(size)
    response = await invoke_raw(system, name, payload, "?invocationID=raw")
    assert response.status == 202
    request = (await system.record(name, "raw")).request
    assert (request.content_type, request.body.size) == ("image/png", size)
    assert bool(request.body.object_name) is (size > 256 * 1024)
    stored = request.body.inline
    if request.body.object_name:
        stored = await read_body(system, name, request.body.object_name)
    assert stored == payload
    assert (await invoke_raw(system, name, payload, "?invocationID=raw")).status == 200
    assert (await invoke_raw(system, name, payload + b".", "?invocationID=raw")).status == 409
    if request.body.object_name:  # the refused request did not replace the accepted one
        assert await read_body(system, name, request.body.object_name) == payload


async def test_a_raw_body_has_its_attributes_in_the_query(system: InvocationApi) -> None:
    name = await system.create_function()
    blue, red = (
        "?" + urlencode({"invocationID": "a", "attributes": attributes}) for attributes in COLOURS
    )
    assert (await invoke_raw(system, name, b"x", blue)).status == 202
    assert (await system.record(name, "a")).request.attributes == {"colour": "blue", "n": 1}
    assert (await invoke_raw(system, name, b"x", blue.replace("+", ""))).status == 200
    assert (await invoke_raw(system, name, b"x", red)).status_and_code == (409, "conflict")
    assert (await invoke_raw(system, name, b"x", "?invocationID=a")).status_and_code == (
        409,
        "conflict",
    )
    refused = await invoke_raw(system, name, b"x", "?attributes=blue")
    assert (refused.status, list(refused.field_errors)) == (400, ["query.attributes"])


async def test_a_large_result_is_streamed_and_a_small_one_is_in_the_record(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    payload = b"0123456789" * 200_000

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(payload), 100_000):
            yield payload[start : start + 100_000]

    await system.queue.bodies.put(name, "big", chunks())
    await system.invoke(name, invocationID="big")
    await system.invoke(name, invocationID="binary")
    await system.apply_transitions(name, "big", begin_run, succeed_with(payload, "big"))
    await system.apply_transitions(name, "binary", begin_run, succeed_with(b"\xff\x00"))
    result = (await system.api.get(invocation_path(name, "big"))).data["result"]
    assert result["bodyBytes"] == len(payload)
    assert result.keys().isdisjoint({"body", "bodyBase64"})
    assert await download(system, name, "big") == ("text/plain", payload)
    small = (await system.api.get(invocation_path(name, "binary"))).data["result"]
    assert small["bodyBase64"] == "/wA="
    assert await download(system, name, "binary") == ("text/plain", b"\xff\x00")
    await system.queue.bodies.delete(name, "big")
    assert (await system.api.get(f"{invocation_path(name, 'big')}/body")).status == 404


async def test_a_redrive_is_refused_if_the_payload_has_expired(system: InvocationApi) -> None:
    name = await system.create_function()
    await invoke_raw(system, name, b"x" * 300_000, "?invocationID=lost")
    await system.succeed(name, "lost")
    record = await system.record(name, "lost")
    await system.queue.bodies.delete(name, record.request.body.object_name)
    response = await system.api.post(f"{invocation_path(name, 'lost')}/redrive", None)
    assert response.status_and_code == (409, "conflict")


async def test_invocations_are_listed_by_last_change_page_by_page(system: InvocationApi) -> None:
    name, other_name = await system.create_function(), await system.create_function()
    for number in range(7):
        await system.invoke(name, invocationID=f"i{number}")
        await system.invoke(other_name, invocationID=f"o{number}")
    for key in ("i3", "i1"):
        await system.succeed(name, key)
    ids, query = [], f"requestID={name}&limit=3"
    token = ""
    while True:
        page = await system.replica.get(f"{INVOCATIONS}?{query}{token}")
        ids += [invocation["invocationID"] for invocation in page.data]
        if "continue" not in page.meta:
            break
        token = f"&continue={page.meta['continue']}"
    assert ids == ["i1", "i3", "i6", "i5", "i4", "i2", "i0"]
    succeeded = await system.api.get(f"{INVOCATIONS}?requestID={name}&state=succeeded&limit=1")
    assert [invocation["invocationID"] for invocation in succeeded.data] == ["i1"]
    all_invocations = await system.api.get(f"{INVOCATIONS}?limit=500")
    assert {name, other_name} <= {invocation["requestID"] for invocation in all_invocations.data}
    assert (await system.api.get(f"{INVOCATIONS}?continue=never")).status == 400


async def test_a_full_queue_refuses_new_invocations_but_not_replays(system: InvocationApi) -> None:
    name = await system.create_function(maxQueued=2)
    for number in range(2):
        assert (await system.invoke(name, invocationID=f"q{number}")).status == 202
    full = await eventually(lambda: system.invoke(name), lambda response: response.status == 429)
    assert full.error["code"] == "queue_full"
    assert (await system.invoke(name, invocationID="q0")).status == 200


async def test_invocations_of_an_earlier_function_of_the_same_name_are_not_found(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await system.invoke(name, invocationID="old", payload=1)
    await system.succeed(name, "old")
    assert (await system.api.delete(f"{FUNCTIONS}/{name}?purge=true")).status == 204
    await eventually(
        lambda: system.api.get(invocation_path(name, "old")),
        lambda response: response.status == 404,
    )
    again = {"operationID": f"{name}-again", "name": name, "specName": "g1.1", "image": "a"}
    assert (await system.api.post(FUNCTIONS, again)).status == 201
    assert (await system.api.get(invocation_path(name, "old"))).status == 404
    fresh = await system.invoke(name, invocationID="old", payload=2)
    assert (fresh.status, fresh.data["state"]) == (202, "queued")


@pytest.mark.parametrize("is_ascii", [True, False])
async def test_a_raw_body_has_the_same_limits_of_headers_and_attributes(
    system: InvocationApi, is_ascii: bool
) -> None:
    name = await system.create_function()
    headers = {f"x-{number}": "%" * 35 for number in range(100)}
    attributes = {"text": "é" * 2040}
    assert len(msgspec.json.encode(attributes)) > 4090
    query = {
        "headers": json.dumps(headers),
        "attributes": json.dumps(attributes, ensure_ascii=is_ascii),
    }
    path = f"?invocationID=full&{urlencode(query)}"
    response = await invoke_raw(system, name, b"x", path)
    assert response.status == 202, response.body
    request = (await system.record(name, "full")).request
    assert (request.headers, request.attributes) == (headers, attributes)
    fields: dict[str, Any] = {"headers": headers, "attributes": attributes, "payloadBase64": "eA=="}
    replay = await system.invoke(name, invocationID="full", contentType="image/png", **fields)
    assert replay.status == 200, replay.body


@pytest.mark.parametrize(
    ("changes", "field"),
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
async def test_an_invalid_invocation_is_refused_by_field(
    system: InvocationApi, changes: dict[str, Any], field: str
) -> None:
    response = await system.invoke("any", **changes)
    assert response.status == 400
    assert list(response.field_errors) == [field]


async def test_the_ttl_of_an_invocation_must_be_below_the_record_retention(
    system: InvocationApi,
) -> None:
    name, ttl = await system.create_function(), {"ttlSeconds": 72 * 3600}
    await system.installation.admin.patch(
        system.installation.path("functions", name), {"spec": ttl}
    )
    assert (await system.invoke(name)).status_and_code == (409, "conflict")
    assert (await system.invoke(name, ttlSeconds=60)).status == 202


async def test_new_invocations_are_refused_when_open_records_need_the_remaining_space(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await system.invoke(name, invocationID="large", payload="x" * 200_000)
    await system.invoke(name, invocationID="a")
    async with records_limited(system, fill_ratio=0.85):
        full = await eventually(
            lambda: system.invoke(name), lambda response: response.status != 202
        )
        assert full.status_and_code == (429, "queue_full")
        assert "records of invocations" in full.error["message"]
        assert (await system.invoke(name, invocationID="a")).status == 200
        assert (await system.succeed(name, "a")).is_final
    await eventually(lambda: system.invoke(name), lambda response: response.status == 202)


async def test_a_result_may_use_only_its_share_of_the_room_for_records(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await system.invoke(name, invocationID="ample", payload="x" * 200_000)
    async with records_limited(system, fill_ratio=0.2):

        async def granted_bytes() -> int:
            response = await system.invoke(name)
            return (await system.record(name, response.data["invocationID"])).request.inline_bytes

        assert (
            await eventually(granted_bytes, lambda share: share < DEFAULT_INLINE_BYTES)
            >= MIN_INLINE_BYTES
        )
        await system.succeed(name, "ample")
        await system.api.post(f"{invocation_path(name, 'ample')}/redrive", None)
        assert (await system.record(name, "ample")).request.inline_bytes < DEFAULT_INLINE_BYTES


@asynccontextmanager
async def records_limited(system: InvocationApi, fill_ratio: float) -> AsyncIterator[None]:
    """Limit the records bucket for the length of the block so that it is full to this fraction."""
    stream = f"KV_{QueueNames().record_bucket}"
    async with await nats.connect(system.nats_server.admin_url) as client:
        info = await client.jetstream().stream_info(stream)
        limited = int(info.state.bytes / fill_ratio)
        try:
            await client.jetstream().update_stream(info.config, max_bytes=limited)
            yield
        finally:
            await client.jetstream().update_stream(info.config, max_bytes=info.config.max_bytes)


async def test_an_absent_function_or_invocation_is_not_found(system: InvocationApi) -> None:
    name = await system.create_function()
    assert (await system.invoke("absent")).status_and_code == (404, "not_found")
    assert (await invoke_raw(system, "absent", b"")).status_and_code == (404, "not_found")
    for path in (
        invocation_path(name, "none"),
        invocation_path("absent", "x"),
        invocation_path(name, "%2e%2e"),
    ):
        assert (await system.api.get(path)).status == 404
        assert (await system.api.delete(path)).status == 404
        assert (await system.api.post(f"{path}/redrive", None)).status == 404
    body = b'{"payload": "%s"}' % (b"x" * 1024 * 1024)
    large = await post_bytes(system, INVOCATIONS, body, "application/json")
    assert large.status_and_code == (413, "too_large")
