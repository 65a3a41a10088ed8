"""Callers, crashing replicas and real workers at once: one outcome for each accepted run."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import nats
import pytest
import pytest_asyncio

from apiserver.http.paths import function_path, invocation_path
from apiserver.invocations.commands import Invocation
from apiserver.invocations.publish_outcome import publish_outcome
from apiserver.nats.errors import QueueRejectedError
from hack.cluster.control_plane import ControlPlane
from shared.invocation.message import call_message
from shared.invocation.queue_names import consumer_name, parse_record_key, record_key
from shared.invocation.state import InvocationState
from shared.invocation.streams import consumer_config
from tests.support.checks.invocation_checks import InvocationSnapshot, find_violations, is_finished
from tests.support.http.api_client import ApiClient
from tests.support.queue.function_harness import FunctionHarness
from tests.support.queue.in_process_worker import run_worker
from tests.support.queue.invocation_api import (
    InvocationApi,
    new_invocation_api,
    wait_queue_connected,
)
from tests.support.queue.recording_framework import serve_recording_framework
from tests.support.wait.eventually import eventually

INVOCATIONS = 40
SEEDS = (20261116, 7)
CONNECTION_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def invocation_api(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InvocationApi]:
    """Run two API replicas and a queue."""
    async with new_invocation_api(
        installed_control_plane, tmp_path_factory.mktemp("ingress")
    ) as created:
        yield created


@pytest_asyncio.fixture(loop_scope="module")
async def harness(invocation_api: InvocationApi) -> AsyncIterator[FunctionHarness]:
    """Create a function with the consumer that the activator would create."""
    name = await invocation_api.create_function(timeoutSeconds=30)
    client = await nats.connect(invocation_api.nats_server.admin_url)
    harness = FunctionHarness(client, name)
    harness.function_uid = (await invocation_api.api.get(function_path(name))).data["uid"]
    stream, config = harness.names.invocations_stream, consumer_config(harness.names, name, 4)
    consumer_path = f"{stream}.{consumer_name(name)}.{config['filter_subject']}"
    body = {"stream_name": stream, "config": config | {"ack_wait": 2_000_000_000}}
    await client.request(f"$JS.API.CONSUMER.CREATE.{consumer_path}", nats_json(body), timeout=10)
    yield harness
    await client.close()


def nats_json(body: dict[str, Any]) -> bytes:

    return msgspec.json.encode(body)


class Callers:
    """Callers that send, cancel and resend at random; they retry after a lost connection."""

    def __init__(
        self, invocation_api: InvocationApi, harness: FunctionHarness, randomness: random.Random
    ) -> None:
        self._invocation_api = invocation_api
        self._harness = harness
        self._randomness = randomness

    async def run_caller(self, number: int) -> None:
        """Run the whole life of one invocation as its caller sees it."""
        key, randomness = f"i{number}", random.Random(self._randomness.random())
        body = {
            "invocationID": key,
            "mode": randomness.choice(["async", "sync"]),
            "waitSeconds": 5,
            "payload": number,
            "attributes": {
                "sleepSeconds": randomness.choice([0, 0.1, 0.5]),
                "failAttempts": randomness.choice([0, 0, 1, 9]),
            },
        }
        await asyncio.sleep(randomness.uniform(0, 3))
        await eventually(lambda: self._try_invoke(body, randomness), tolerate=CONNECTION_ERRORS)
        self._harness.accepted.append(record_key(self._harness.function_name, key))
        if randomness.random() < 0.3:
            await self._send("DELETE", key, "", randomness)
        if randomness.random() < 0.3:
            await self._send("POST", key, "/redrive", randomness)

    async def _try_invoke(self, body: dict[str, Any], randomness: random.Random) -> bool:
        response = await self._invocation_api.invoke(
            self._harness.function_name, self._random_replica(randomness), **body
        )
        assert response.status in (200, 202, 503), response.body
        return response.status != 503

    async def _send(self, method: str, key: str, suffix: str, randomness: random.Random) -> None:
        """Send the request and accept any result.

        The request may be too late or too early, or all replicas may be down.
        """
        path = invocation_path(self._harness.function_name, key) + suffix
        try:
            response = await self._random_replica(randomness).request(method, path)
        except CONNECTION_ERRORS:
            return
        assert response.status in (200, 202, 409, 503), response.body

    def _random_replica(self, randomness: random.Random) -> ApiClient:
        return randomness.choice([self._invocation_api.api, self._invocation_api.replica])


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_accepted_invocation_has_one_outcome_per_run(
    invocation_api: InvocationApi, harness: FunctionHarness, seed: int
) -> None:
    callers = Callers(invocation_api, harness, random.Random(seed))
    url, name = invocation_api.nats_server.admin_url, harness.function_name
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(url, name, socket),
        run_worker(url, name, socket),
    ):
        async with asyncio.TaskGroup() as group:
            group.create_task(restart_replica_twice(invocation_api))
            for number in range(INVOCATIONS):
                group.create_task(callers.run_caller(number))
        await eventually(
            lambda: sweep_and_snapshot(invocation_api, harness), is_finished, timeout_seconds=120
        )
        assert find_violations(await harness.snapshot()) == [], f"seed {seed}"
    assert len(harness.accepted) == INVOCATIONS


async def restart_replica_twice(invocation_api: InvocationApi) -> None:
    """Kill a replica in the middle of its work and start it again, twice."""
    for _ in range(2):
        await asyncio.sleep(1)
        await invocation_api.replica_process.kill()
        invocation_api.replica_process.start()
        await eventually(lambda: wait_connected(invocation_api.replica), tolerate=CONNECTION_ERRORS)


async def wait_connected(caller: ApiClient) -> bool:
    await wait_queue_connected(caller)
    return True


async def sweep_and_snapshot(
    invocation_api: InvocationApi, harness: FunctionHarness
) -> InvocationSnapshot:
    """Sweep as the activator does for the invocations of dead processes; return the snapshot."""
    snapshot, queue = await harness.snapshot(), invocation_api.queue
    for key in harness.accepted:
        stored = await queue.records.find(key)
        if stored is None or stored.record is None:
            continue
        record, ids = stored.record, parse_record_key(key)
        try:
            if record.is_final:
                await publish_outcome(queue, Invocation(*ids, record), stored.revision)
            elif record.state is InvocationState.QUEUED and key not in snapshot.queued_keys:
                await queue.calls.publish(call_message(*ids, record))
        except QueueRejectedError:
            continue
    return await harness.snapshot()
