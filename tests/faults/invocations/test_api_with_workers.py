"""Callers, replicas that die and real workers at once: the promise holds for what was accepted."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import nats
import pytest
import pytest_asyncio

from apiserver.http.paths import function, invocation
from apiserver.invocations.commands import Invocation
from apiserver.invocations.publish_outcome import Settlement
from apiserver.nats.errors import QueueRefusedError
from hack.cluster.control_plane import ControlPlane
from shared.invocation.message import call_of
from shared.invocation.queue_names import consumer_of, ids_of, record_key
from shared.invocation.state import State
from shared.invocation.streams import consumer
from tests.support.checks.invocation_checks import Seen, is_over, violations
from tests.support.http.api_client import Caller
from tests.support.queue.function_harness import FunctionWorld
from tests.support.queue.in_process_worker import a_worker
from tests.support.queue.invocation_api import Ingress, new_ingress, queue_connected
from tests.support.queue.recording_framework import recording
from tests.support.wait.eventually import eventually

INVOCATIONS = 40
SEEDS = (20261116, 7)
GONE = (aiohttp.ClientError, TimeoutError, OSError)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ingress(
    installed: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ingress]:
    """Two replicas and a queue."""
    async with new_ingress(installed, tmp_path_factory.mktemp("ingress")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def world(ingress: Ingress) -> AsyncIterator[FunctionWorld]:
    """A function with the consumer that the activator would make."""
    name = await ingress.function(timeoutSeconds=30)
    client = await nats.connect(ingress.server.admin_url)
    world = FunctionWorld(client, name)
    world.function_uid = (await ingress.api.get(function(name))).data["uid"]
    stream, config = world.names.invocations_stream, consumer(world.names, name, 4)
    where = f"{stream}.{consumer_of(name)}.{config['filter_subject']}"
    body = {"stream_name": stream, "config": config | {"ack_wait": 2_000_000_000}}
    await client.request(f"$JS.API.CONSUMER.CREATE.{where}", nats_json(body), timeout=10)
    yield world
    await client.close()


def nats_json(body: dict[str, Any]) -> bytes:

    return msgspec.json.encode(body)


class Callers:
    """Send, cancel and send again, by chance; whom they lose they ask again."""

    def __init__(self, ingress: Ingress, world: FunctionWorld, chance: random.Random) -> None:
        self._ingress = ingress
        self._world = world
        self._chance = chance

    async def one(self, number: int) -> None:
        """The whole life of one invocation as its caller sees it."""
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
        self._world.accepted.append(record_key(self._world.request_id, key))
        if chance.random() < 0.3:
            await self._try("DELETE", key, "", chance)
        if chance.random() < 0.3:
            await self._try("POST", key, "/redrive", chance)

    async def _accepted(self, body: dict[str, Any], chance: random.Random) -> bool:
        answer = await self._ingress.invoke(self._world.request_id, self._any(chance), **body)
        assert answer.status in (200, 202, 503), answer.body
        return answer.status != 503

    async def _try(self, method: str, key: str, more: str, chance: random.Random) -> None:
        """Whatever comes of it: it may be too late, too early, or nobody may be there."""
        path = invocation(self._world.request_id, key) + more
        try:
            answer = await self._any(chance).request(method, path)
        except GONE:
            return
        assert answer.status in (200, 202, 409, 503), answer.body

    def _any(self, chance: random.Random) -> Caller:
        return chance.choice([self._ingress.api, self._ingress.replica])


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_accepted_invocation_has_one_outcome_a_run(
    ingress: Ingress, world: FunctionWorld, seed: int
) -> None:
    callers = Callers(ingress, world, random.Random(seed))
    url, name = ingress.server.admin_url, world.request_id
    async with (
        recording(world.executions) as (_, socket),
        a_worker(url, name, socket),
        a_worker(url, name, socket),
    ):
        async with asyncio.TaskGroup() as group:
            group.create_task(dying(ingress))
            for number in range(INVOCATIONS):
                group.create_task(callers.one(number))
        await eventually(lambda: swept(ingress, world), is_over, seconds=120)
        assert violations(await world.seen()) == [], f"seed {seed}"
    assert len(world.accepted) == INVOCATIONS


async def dying(ingress: Ingress) -> None:
    """Kill a replica in the middle of its work, and start it again, twice."""
    for _ in range(2):
        await asyncio.sleep(1)
        await ingress.process.kill()
        ingress.process.start()
        await eventually(lambda: answering(ingress.replica), tolerate=GONE)


async def answering(caller: Caller) -> bool:
    await queue_connected(caller)
    return True


async def swept(ingress: Ingress, world: FunctionWorld) -> Seen:
    """What there is, after what the activator's sweep does for those whom a dead process left."""
    seen, queue = await world.seen(), ingress.queue
    settlement = Settlement(queue)
    for key in world.accepted:
        kept = await queue.records.find(key)
        if kept is None or kept.record is None:
            continue
        record, ids = kept.record, ids_of(key)
        try:
            if record.is_final:
                await settlement.settle(Invocation(*ids, record), kept.revision)
            elif record.state is State.QUEUED and key not in seen.queued:
                await queue.calls.publish(call_of(*ids, record))
        except QueueRefusedError:
            continue
    return await world.seen()
