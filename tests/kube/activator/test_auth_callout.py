"""Permissions of a function's worker credentials at the real queue: all allowed and denied."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from controller.runtime.clock import SystemClock
from controller.runtime.process.lifecycle import Runnable
from hack.cluster.nats_server import NATSServer
from serverless.activator.auth.auth_callout import AuthCallout, CalloutPolicy
from serverless.activator.auth.jwt import TokenSigner
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.activator.config import NATSConfig
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import credentials_from_config
from shared.invocation.queue_names import QueueNames, consumer_name
from shared.invocation.streams import (
    StreamLimits,
    body_bucket_config,
    consumer_config,
    stream_configs,
)
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

NAMES = QueueNames()
MINE, OTHER = WorkerUser("mine", "uid-1"), WorkerUser("other", "uid-2")
# An accepted client gets an answer; a refused client hears nothing, even after a long wait.
PATIENCE_SECONDS = 60
SILENCE_SECONDS = 0.5
RECORDS, CALLS = f"KV_{NAMES.record_bucket}", NAMES.invocations_stream


class Door:
    """A queue with a running auth callout, and an administrator's connection to inspect it."""

    def __init__(self, queue: NATSServer, admin: Client) -> None:
        self.queue = queue
        self.admin = admin

    def password(self, user: WorkerUser) -> str:
        return user.password(self.queue.worker_key_file.read_text().strip().encode())

    @asynccontextmanager
    async def worker(self, user: WorkerUser, password: str = "") -> AsyncIterator[Client]:
        """Connect with the credentials of a function's worker."""

        async def ignore(_: Exception) -> None:
            """Ignore errors of the connection; refusals are also reported there."""

        client = Client()
        try:
            await client.connect(
                self.queue.url,
                user=user.name,
                password=password or self.password(user),
                inbox_prefix=user.inbox_prefix.encode(),
                allow_reconnect=False,
                connect_timeout=PATIENCE_SECONDS,
                error_cb=ignore,
            )
            yield client
        finally:
            await client.close()

    async def install(self, user: WorkerUser) -> None:
        """Create a function's consumer and bucket, one record and one message."""
        config = consumer_config(NAMES, user.function_name, 1)
        where = f"{CALLS}.{user.function_name}.{config['filter_subject']}"
        body = {"stream_name": CALLS, "config": config}
        await self.ask(f"CONSUMER.CREATE.{where}", body)
        bucket = body_bucket_config(NAMES, StreamLimits(), user.function_name)
        await self.ask(f"STREAM.CREATE.{bucket['name']}", bucket)
        jetstream = self.admin.jetstream(timeout=PATIENCE_SECONDS)
        await jetstream.publish(NAMES.record_subject(f"{user.function_name}.i"), b"record")
        await jetstream.publish(NAMES.call_subject(user.function_name, "i"), b"call")

    async def ask(self, verb: str, body: object) -> None:
        asked = json.dumps(body).encode()
        said = await self.admin.request(f"$JS.API.{verb}", asked, timeout=PATIENCE_SECONDS)
        assert "error" not in json.loads(said.data), said.data


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with new_nats_server(tmp_path / "queue") as queue, asyncio.TaskGroup() as group:
        admin = await nats.connect(queue.admin_url)
        password_file = str(queue.password_file("callout"))
        access = QueueConfig(url=queue.url, user="callout", password_file=password_file)
        clock = SystemClock()
        connections = [
            QueueConnection(credentials_from_config(access), "tests", clock) for _ in range(2)
        ]
        gate = CalloutPolicy(
            queue.worker_key_file.read_text().strip().encode(),
            NATSConfig().worker_account,
            NAMES,
            lambda user: user in (MINE, OTHER),
        )
        signer = TokenSigner(queue.issuer_seed_file.read_text().strip())
        responders = [AuthCallout(each, gate, signer, clock) for each in connections]
        parts: list[Runnable] = [*connections, *responders]
        tasks = [group.create_task(each.run()) for each in parts]
        made = Door(queue, admin)
        for wire in stream_configs(NAMES, StreamLimits()):
            await made.ask(f"STREAM.CREATE.{wire['name']}", wire)
        for user in (MINE, OTHER):
            await made.install(user)
        await eventually(lambda: is_open(made), tolerate=nats.errors.Error)
        yield made
        for task in tasks:
            task.cancel()
        await admin.close()


async def is_open(door: Door) -> bool:
    async with door.worker(MINE):
        return True


async def answer(client: Client, subject: str, data: bytes = b"") -> bytes:
    """Send a request; return the data of the response."""
    return bytes((await client.request(subject, data, timeout=PATIENCE_SECONDS)).data)


async def is_answered(client: Client, subject: str) -> bool:
    """Return whether a request gets a response; after a refusal there is none."""
    try:
        await client.request(subject, timeout=SILENCE_SECONDS)
    except nats.errors.TimeoutError:
        return False
    return True


async def listening(worker: Client, subject: str) -> Subscription:
    """Subscribe and wait until the server has the subscription.

    `flush` is not enough, because its ping may overtake the subscription.
    """
    subscription = await worker.subscribe(subject)
    record = NAMES.record_subject("mine.i")
    assert await answer(worker, f"$JS.API.DIRECT.GET.{RECORDS}.{record}")
    return subscription


async def test_a_worker_can_do_its_work(door: Door) -> None:
    async with door.worker(MINE) as worker:
        jetstream = worker.jetstream(timeout=PATIENCE_SECONDS)
        pulled = await jetstream.pull_subscribe_bind(consumer_name("mine"), stream=CALLS)
        (message,) = await pulled.fetch(1, timeout=PATIENCE_SECONDS)
        assert message.data == b"call"
        await message.in_progress()
        await message.ack_sync(timeout=PATIENCE_SECONDS)
        record = NAMES.record_subject("mine.i")
        assert await answer(worker, f"$JS.API.DIRECT.GET.{RECORDS}.{record}") == b"record"
        bodies = NAMES.body_bucket_name("mine")
        for subject in (
            record,
            f"$KV.{NAMES.worker_bucket}.mine.w",
            NAMES.result_subject("mine"),
            NAMES.dead_letter_subject("mine"),
            f"$O.{bodies}.C.x",
            f"$O.{bodies}.M.x",
        ):
            said = await answer(worker, subject, b"data")
            assert "seq" in json.loads(said), subject
        chunk = json.dumps({"seq": 1, "next_by_subj": f"$O.{bodies}.C.x"}).encode()
        assert await answer(worker, f"$JS.API.DIRECT.GET.OBJ_{bodies}", chunk) == b"data"
        nudges = await listening(worker, NAMES.cancellation_subject("mine"))
        await door.admin.publish(NAMES.cancellation_subject("mine"), b"i")
        assert (await nudges.next_msg(timeout=PATIENCE_SECONDS)).data == b"i"


FORBIDDEN = [
    f"$JS.API.CONSUMER.MSG.NEXT.{CALLS}.other",
    f"$JS.API.DIRECT.GET.{RECORDS}.{NAMES.record_subject('other.i')}",
    f"$JS.API.DIRECT.GET.{RECORDS}",
    f"$JS.API.STREAM.MSG.GET.{RECORDS}",
    f"$JS.API.STREAM.INFO.{CALLS}",
    f"$JS.API.STREAM.PURGE.{CALLS}",
    f"$JS.API.STREAM.DELETE.{CALLS}",
    f"$JS.API.STREAM.MSG.DELETE.{CALLS}",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.CREATE.MINE",
    f"$JS.API.CONSUMER.CREATE.{CALLS}",
    f"$JS.API.CONSUMER.CREATE.OBJ_{NAMES.body_bucket_name('mine')}",
    f"$JS.API.CONSUMER.DELETE.{CALLS}.mine",
    f"$JS.ACK.{CALLS}.other.1.1.1.1.1",
    NAMES.record_subject("other.i"),
    NAMES.record_subject("mine.i.deeper"),
    f"$KV.{NAMES.worker_bucket}.other.w",
    f"$KV.{NAMES.worker_bucket}.mine.w.deeper",
    NAMES.result_subject("other"),
    NAMES.dead_letter_subject("other"),
    NAMES.call_subject("mine", "forged"),
    NAMES.cancellation_subject("mine"),
    f"$O.{NAMES.body_bucket_name('other')}.C.x",
    "$SYS.REQ.USER.AUTH",
]


async def test_a_worker_is_denied_all_other_subjects(door: Door) -> None:
    before = await contents(door)
    async with door.worker(MINE) as worker:
        async with asyncio.TaskGroup() as group:
            asked = {each: group.create_task(is_answered(worker, each)) for each in FORBIDDEN}
        assert [each for each, task in asked.items() if task.result()] == []
        for subject in (">", "_INBOX.>", f"{OTHER.inbox_prefix}.>", "$KV.>", "$SYS.>"):
            heard = await listening(worker, subject)
            await door.admin.publish(subject.replace(">", "x"), b"secret")
            await contents(door)  # the answer shows that the server has all earlier messages
            with pytest.raises(nats.errors.TimeoutError):
                await heard.next_msg(timeout=0.2)
    assert await contents(door) == before


@pytest.mark.parametrize("extent", ["all", "sub"])
async def test_a_worker_removes_nothing_by_what_it_writes(door: Door, extent: str) -> None:
    """Test roll-ups.

    A roll-up would replace all messages of its stream, also those of other writers.
    """
    reports = f"$KV.{NAMES.worker_bucket}"
    await door.admin.jetstream(timeout=PATIENCE_SECONDS).publish(f"{reports}.other.w", b"report")
    before = await contents(door)
    async with door.worker(MINE) as worker:
        for subject in (NAMES.record_subject("mine.i"), f"{reports}.mine.w"):
            headers = {"Nats-Rollup": extent}
            said = await worker.request(subject, b"mine", timeout=PATIENCE_SECONDS, headers=headers)
            assert json.loads(said.data)["error"]["description"] == "rollup not permitted"
    assert await contents(door) == before


async def contents(door: Door) -> dict[str, int]:
    """Return how many messages were ever written to each stream."""
    infos = await door.admin.jetstream(timeout=PATIENCE_SECONDS).streams_info()
    return {str(each.config.name): each.state.last_seq for each in infos}


async def test_an_answer_cannot_be_sent_where_its_asker_may_not_write(door: Door) -> None:
    """Test reply subjects.

    The server does not check them against the sender's rights; the account does.
    """
    record = NAMES.record_subject("mine.i")
    before = await contents(door)
    async with door.worker(MINE) as worker:
        forged = NAMES.record_subject("other.forged")
        subject = f"$JS.API.DIRECT.GET.{RECORDS}.{record}"
        await worker.publish(subject, b"", reply=forged)
        await worker.publish(f"$JS.API.CONSUMER.MSG.NEXT.{CALLS}.mine", b"", reply=forged)
        assert await answer(worker, subject) == b"record"  # the two requests before it are done
    assert await contents(door) == before


async def test_the_auth_callout_rejects_unknown_workers(door: Door) -> None:
    gone = WorkerUser("gone", "uid-3")
    for user, proof in ((MINE, OTHER), (WorkerUser("mine", "uid-2"), MINE), (gone, gone)):
        with pytest.raises(nats.errors.Error, match="Authorization"):
            async with door.worker(user, door.password(proof)):
                pass
