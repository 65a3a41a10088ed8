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
GONE = (aiohttp.ClientError, TimeoutError, OSError)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def invocation_api(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InvocationApi]:
    """Run two API replicas and a queue."""
    async with new_invocation_api(
        installed_control_plane, tmp_path_factory.mktemp("ingress")
    ) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def harness(invocation_api: InvocationApi) -> AsyncIterator[FunctionHarness]:
    """Create a function with the consumer that the activator would create."""
    name = await invocation_api.create_function(timeoutSeconds=30)
    client = await nats.connect(invocation_api.nats_server.admin_url)
    world = FunctionHarness(client, name)
    world.function_uid = (await invocation_api.api.get(function_path(name))).data["uid"]
    stream, config = world.names.invocations_stream, consumer_config(world.names, name, 4)
    where = f"{stream}.{consumer_name(name)}.{config['filter_subject']}"
    body = {"stream_name": stream, "config": config | {"ack_wait": 2_000_000_000}}
    await client.request(f"$JS.API.CONSUMER.CREATE.{where}", nats_json(body), timeout=10)
    yield world
    await client.close()


def nats_json(body: dict[str, Any]) -> bytes:

    return msgspec.json.encode(body)


class Callers:
    """Callers that send, cancel and resend at random; they retry after a lost connection."""

    def __init__(
        self, ingress: InvocationApi, world: FunctionHarness, chance: random.Random
    ) -> None:
        self._ingress = ingress
        self._world = world
        self._chance = chance

    async def one(self, number: int) -> None:
        """Run the whole life of one invocation as its caller sees it."""
        key, chance = f"i{number}", random.Random(self._chance.random())
        body = {
            "invocationID": key,
            "mode": chance.choice(["async", "sync"]),
            "waitSeconds": 5,
            "payload": number,
            "attributes": {
                "sleepSeconds": chance.choice([0, 0.1, 0.5]),
                "failAttempts": chance.choice([0, 0, 1, 9]),
            },
        }
        await asyncio.sleep(chance.uniform(0, 3))
        await eventually(lambda: self._accepted(body, chance), tolerate=GONE)
        self._world.accepted.append(record_key(self._world.function_name, key))
        if chance.random() < 0.3:
            await self._try("DELETE", key, "", chance)
        if chance.random() < 0.3:
            await self._try("POST", key, "/redrive", chance)

    async def _accepted(self, body: dict[str, Any], chance: random.Random) -> bool:
        answer = await self._ingress.invoke(self._world.function_name, self._any(chance), **body)
        assert answer.status in (200, 202, 503), answer.body
        return answer.status != 503

    async def _try(self, method: str, key: str, more: str, chance: random.Random) -> None:
        """Send the request and accept any result.

        The request may be too late or too early, or all replicas may be down.
        """
        path = invocation_path(self._world.function_name, key) + more
        try:
            answer = await self._any(chance).request(method, path)
        except GONE:
            return
        assert answer.status in (200, 202, 409, 503), answer.body

    def _any(self, chance: random.Random) -> ApiClient:
        return chance.choice([self._ingress.api, self._ingress.replica])


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_accepted_invocation_has_one_outcome_a_run(
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
            group.create_task(dying(invocation_api))
            for number in range(INVOCATIONS):
                group.create_task(callers.one(number))
        await eventually(lambda: swept(invocation_api, harness), is_finished, timeout_seconds=120)
        assert find_violations(await harness.snapshot()) == [], f"seed {seed}"
    assert len(harness.accepted) == INVOCATIONS


async def dying(ingress: InvocationApi) -> None:
    """Kill a replica in the middle of its work and start it again, twice."""
    for _ in range(2):
        await asyncio.sleep(1)
        await ingress.replica_process.kill()
        ingress.replica_process.start()
        await eventually(lambda: answering(ingress.replica), tolerate=GONE)


async def answering(caller: ApiClient) -> bool:
    await wait_queue_connected(caller)
    return True


async def swept(ingress: InvocationApi, world: FunctionHarness) -> InvocationSnapshot:
    """Sweep as the activator does for the invocations of dead processes; return the snapshot."""
    seen, queue = await world.snapshot(), ingress.queue
    for key in world.accepted:
        kept = await queue.records.find(key)
        if kept is None or kept.record is None:
            continue
        record, ids = kept.record, parse_record_key(key)
        try:
            if record.is_final:
                await publish_outcome(queue, Invocation(*ids, record), kept.revision)
            elif record.state is InvocationState.QUEUED and key not in seen.queued_keys:
                await queue.calls.publish(call_message(*ids, record))
        except QueueRejectedError:
            continue
    return await world.snapshot()
