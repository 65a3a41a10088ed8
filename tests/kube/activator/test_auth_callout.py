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
# An accepted client gets a reply; a refused client gets none, even after a long wait.
TIMEOUT_SECONDS = 60
NO_REPLY_SECONDS = 0.5
RECORDS, CALLS = f"KV_{NAMES.record_bucket}", NAMES.invocations_stream


class CalloutServer:
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
                connect_timeout=TIMEOUT_SECONDS,
                error_cb=ignore,
            )
            yield client
        finally:
            await client.close()

    async def install(self, user: WorkerUser) -> None:
        """Create a function's consumer and bucket, one record and one message."""
        config = consumer_config(NAMES, user.function_name, 1)
        path = f"{CALLS}.{user.function_name}.{config['filter_subject']}"
        body = {"stream_name": CALLS, "config": config}
        await self.call_api(f"CONSUMER.CREATE.{path}", body)
        bucket = body_bucket_config(NAMES, StreamLimits(), user.function_name)
        await self.call_api(f"STREAM.CREATE.{bucket['name']}", bucket)
        jetstream = self.admin.jetstream(timeout=TIMEOUT_SECONDS)
        await jetstream.publish(NAMES.record_subject(f"{user.function_name}.i"), b"record")
        await jetstream.publish(NAMES.call_subject(user.function_name, "i"), b"call")

    async def call_api(self, verb: str, body: object) -> None:
        data = json.dumps(body).encode()
        reply = await self.admin.request(f"$JS.API.{verb}", data, timeout=TIMEOUT_SECONDS)
        assert "error" not in json.loads(reply.data), reply.data


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[CalloutServer]:
    async with new_nats_server(tmp_path / "queue") as queue, asyncio.TaskGroup() as group:
        admin = await nats.connect(queue.admin_url)
        password_file = str(queue.password_file("callout"))
        credentials = QueueConfig(url=queue.url, user="callout", password_file=password_file)
        clock = SystemClock()
        connections = [
            QueueConnection(credentials_from_config(credentials), "tests", clock) for _ in range(2)
        ]
        policy = CalloutPolicy(
            queue.worker_key_file.read_text().strip().encode(),
            NATSConfig().worker_account,
            NAMES,
            lambda user: user in (MINE, OTHER),
        )
        signer = TokenSigner(queue.issuer_seed_file.read_text().strip())
        callouts = [AuthCallout(connection, policy, signer, clock) for connection in connections]
        runnables: list[Runnable] = [*connections, *callouts]
        tasks = [group.create_task(runnable.run()) for runnable in runnables]
        server = CalloutServer(queue, admin)
        for config in stream_configs(NAMES, StreamLimits()):
            await server.call_api(f"STREAM.CREATE.{config['name']}", config)
        for user in (MINE, OTHER):
            await server.install(user)
        await eventually(lambda: is_accepting(server), tolerate=nats.errors.Error)
        yield server
        for task in tasks:
            task.cancel()
        await admin.close()


async def is_accepting(server: CalloutServer) -> bool:
    async with server.worker(MINE):
        return True


async def request(client: Client, subject: str, data: bytes = b"") -> bytes:
    """Send a request; return the data of the reply."""
    return bytes((await client.request(subject, data, timeout=TIMEOUT_SECONDS)).data)


async def is_answered(client: Client, subject: str) -> bool:
    """Return whether a request gets a reply; a refused request gets none."""
    try:
        await client.request(subject, timeout=NO_REPLY_SECONDS)
    except nats.errors.TimeoutError:
        return False
    return True


async def subscribe(worker: Client, subject: str) -> Subscription:
    """Subscribe and wait until the server has the subscription.

    `flush` is not enough, because its ping may overtake the subscription.
    """
    subscription = await worker.subscribe(subject)
    record = NAMES.record_subject("mine.i")
    assert await request(worker, f"$JS.API.DIRECT.GET.{RECORDS}.{record}")
    return subscription


async def test_a_worker_may_use_the_subjects_of_its_function(server: CalloutServer) -> None:
    async with server.worker(MINE) as worker:
        jetstream = worker.jetstream(timeout=TIMEOUT_SECONDS)
        subscription = await jetstream.pull_subscribe_bind(consumer_name("mine"), stream=CALLS)
        (message,) = await subscription.fetch(1, timeout=TIMEOUT_SECONDS)
        assert message.data == b"call"
        await message.in_progress()
        await message.ack_sync(timeout=TIMEOUT_SECONDS)
        record = NAMES.record_subject("mine.i")
        assert await request(worker, f"$JS.API.DIRECT.GET.{RECORDS}.{record}") == b"record"
        bodies = NAMES.body_bucket_name("mine")
        for subject in (
            record,
            f"$KV.{NAMES.worker_bucket}.mine.w",
            NAMES.result_subject("mine"),
            NAMES.dead_letter_subject("mine"),
            f"$O.{bodies}.C.x",
            f"$O.{bodies}.M.x",
        ):
            reply = await request(worker, subject, b"data")
            assert "seq" in json.loads(reply), subject
        chunk = json.dumps({"seq": 1, "next_by_subj": f"$O.{bodies}.C.x"}).encode()
        assert await request(worker, f"$JS.API.DIRECT.GET.OBJ_{bodies}", chunk) == b"data"
        cancellations = await subscribe(worker, NAMES.cancellation_subject("mine"))
        await server.admin.publish(NAMES.cancellation_subject("mine"), b"i")
        assert (await cancellations.next_msg(timeout=TIMEOUT_SECONDS)).data == b"i"


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


async def test_a_worker_is_denied_all_other_subjects(server: CalloutServer) -> None:
    before = await stream_sequences(server)
    async with server.worker(MINE) as worker:
        async with asyncio.TaskGroup() as group:
            tasks = {
                subject: group.create_task(is_answered(worker, subject)) for subject in FORBIDDEN
            }
        assert [subject for subject, task in tasks.items() if task.result()] == []
        for subject in (">", "_INBOX.>", f"{OTHER.inbox_prefix}.>", "$KV.>", "$SYS.>"):
            subscription = await subscribe(worker, subject)
            await server.admin.publish(subject.replace(">", "x"), b"secret")
            # The reply shows that the server has all earlier messages.
            await stream_sequences(server)
            with pytest.raises(nats.errors.TimeoutError):
                await subscription.next_msg(timeout=0.2)
    assert await stream_sequences(server) == before


@pytest.mark.parametrize("extent", ["all", "sub"])
async def test_a_worker_cannot_remove_messages_with_a_roll_up(
    server: CalloutServer, extent: str
) -> None:
    """Test roll-ups.

    A roll-up would replace all messages of its stream, also those of other writers.
    """
    reports = f"$KV.{NAMES.worker_bucket}"
    await server.admin.jetstream(timeout=TIMEOUT_SECONDS).publish(f"{reports}.other.w", b"report")
    before = await stream_sequences(server)
    async with server.worker(MINE) as worker:
        for subject in (NAMES.record_subject("mine.i"), f"{reports}.mine.w"):
            headers = {"Nats-Rollup": extent}
            reply = await worker.request(subject, b"mine", timeout=TIMEOUT_SECONDS, headers=headers)
            assert json.loads(reply.data)["error"]["description"] == "rollup not permitted"
    assert await stream_sequences(server) == before


async def stream_sequences(server: CalloutServer) -> dict[str, int]:
    """Return how many messages were ever written to each stream."""
    infos = await server.admin.jetstream(timeout=TIMEOUT_SECONDS).streams_info()
    return {str(info.config.name): info.state.last_seq for info in infos}


async def test_a_reply_subject_that_the_worker_may_not_publish_to_gets_no_reply(
    server: CalloutServer,
) -> None:
    """Test reply subjects.

    The server does not check them against the sender's rights; the account does.
    """
    record = NAMES.record_subject("mine.i")
    before = await stream_sequences(server)
    async with server.worker(MINE) as worker:
        forged = NAMES.record_subject("other.forged")
        subject = f"$JS.API.DIRECT.GET.{RECORDS}.{record}"
        await worker.publish(subject, b"", reply=forged)
        await worker.publish(f"$JS.API.CONSUMER.MSG.NEXT.{CALLS}.mine", b"", reply=forged)
        assert await request(worker, subject) == b"record"  # the two requests before it are done
    assert await stream_sequences(server) == before


async def test_the_auth_callout_rejects_unknown_workers(server: CalloutServer) -> None:
    gone = WorkerUser("gone", "uid-3")
    for user, password_of in ((MINE, OTHER), (WorkerUser("mine", "uid-2"), MINE), (gone, gone)):
        with pytest.raises(nats.errors.Error, match="Authorization"):
            async with server.worker(user, server.password(password_of)):
                pass
