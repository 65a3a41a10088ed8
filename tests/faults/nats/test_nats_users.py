"""Permissions of the NATS user of each program: enough for its work, and nothing more."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats.errors
import pytest

from hack.cluster.nats_server import NATSServer
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, consumer_config, stream_configs
from tests.support.queue.nats_connection import NATSConnection, connect_as
from tests.support.queue.nats_server import new_nats_server

NAMES = QueueNames()
# nats-py itself waits for half a second.
REPLY_TIMEOUT_SECONDS = 30
WORK, RESULTS, LETTERS = "RUNTIME_INVOCATIONS", "RUNTIME_RESULTS", "RUNTIME_DLQ"
STREAMS = (WORK, RESULTS, LETTERS, "KV_runtime-invocations", "KV_runtime-workers")
FORBIDDEN_PUBLISH = (
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.USER.AUTH",
    "something.else",
    *(f"$JS.API.STREAM.DELETE.{stream}" for stream in STREAMS),
    f"$JS.API.CONSUMER.MSG.NEXT.{WORK}.echo",
    f"$JS.ACK.{WORK}.echo.1.1.1.1.0",
)
FORBIDDEN_SUBSCRIBE = (">", "$SYS.>", "runtime.serverless.>", "_INBOX_echo_uid.>", "$O.>")
FORBIDDEN_PUBLISH_BY_USER = {
    "runtime-api": (
        "$KV.runtime-workers.echo.one",
        f"$JS.API.CONSUMER.CREATE.{WORK}.mine",
        f"$JS.API.CONSUMER.DELETE.{WORK}.echo",
        f"$JS.API.STREAM.MSG.DELETE.{RESULTS}",
        *(f"$JS.API.STREAM.PURGE.{stream}" for stream in STREAMS),
    ),
    "activator": (),
    "callout": (
        "_INBOX.other",
        "runtime.serverless.invoke.echo.one",
        "$KV.runtime-invocations.echo.one",
        f"$JS.API.STREAM.INFO.{WORK}",
    ),
    "result-store": (
        "runtime.serverless.invoke.echo.one",
        "runtime.serverless.result.echo",
        "$KV.runtime-invocations.echo.one",
        "$O.runtime-bodies-echo.C.one",
        f"$JS.API.CONSUMER.CREATE.{WORK}.mine",
        f"$JS.API.STREAM.INFO.{WORK}",
        f"$JS.API.STREAM.PURGE.{RESULTS}",
        f"$JS.API.STREAM.UPDATE.{RESULTS}",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.DIRECT.GET.KV_runtime-invocations.$KV.runtime-invocations.echo.one",
    ),
}
FORBIDDEN_SUBSCRIBE_BY_USER = {
    "runtime-api": ("$KV.runtime-workers.>", "$SYS.REQ.USER.AUTH"),
    "activator": ("$SYS.REQ.USER.AUTH",),
    "callout": ("_INBOX.>", "$KV.runtime-invocations.>"),
    "result-store": ("$KV.runtime-invocations.>", "$SYS.REQ.USER.AUTH"),
}


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    """Start a server in which no stream exists yet."""
    async with new_nats_server(tmp_path / "queue") as server:
        yield server


async def call_api(
    user: NATSConnection, verb: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send a request to JetStream and return the reply, which must not be an error."""
    data = b"" if body is None else json.dumps(body).encode()
    message = await user.client.request(f"$JS.API.{verb}", data, timeout=REPLY_TIMEOUT_SECONDS)
    reply: dict[str, Any] = json.loads(message.data)
    assert "error" not in reply, reply
    return reply


async def test_every_nats_user_is_denied_other_subjects(queue: NATSServer) -> None:
    allowed = []
    for name, subjects in FORBIDDEN_PUBLISH_BY_USER.items():
        async with connect_as(queue, name, queue.password(name)) as user:
            for subject in (*FORBIDDEN_PUBLISH, *subjects):
                allowed += [(name, subject)] if await user.can_publish(subject) else []
            for subject in (*FORBIDDEN_SUBSCRIBE, *FORBIDDEN_SUBSCRIBE_BY_USER[name]):
                allowed += [(name, subject)] if await user.can_subscribe(subject) else []
    assert allowed == []


async def test_every_nats_user_may_use_its_subjects(queue: NATSServer) -> None:
    outcome, call = "runtime.serverless.result.echo", "runtime.serverless.invoke.echo.one"
    async with (
        connect_as(queue, "runtime-api", queue.password("runtime-api")) as api,
        connect_as(queue, "activator", queue.password("activator")) as activator,
        connect_as(queue, "result-store", queue.password("result-store")) as store,
    ):
        for config in stream_configs(NAMES, StreamLimits()):
            await call_api(api, f"STREAM.CREATE.{config['name']}", config)
            await call_api(activator, f"STREAM.UPDATE.{config['name']}", config)
        consumer = {"stream_name": WORK, "config": consumer_config(NAMES, "echo", 1)}
        await call_api(
            activator, f"CONSUMER.CREATE.{WORK}.echo.{NAMES.call_filter('echo')}", consumer
        )
        for subject in (call, outcome, NAMES.record_subject("echo.one")):
            await api.client.jetstream().publish(subject, b"{}")
        await activator.client.jetstream().publish("runtime.serverless.dlq.echo", b"{}")
        listed = await call_api(activator, f"CONSUMER.LIST.{WORK}", {"offset": 0})
        assert listed["consumers"][0]["num_pending"] == 1
        await call_api(api, f"STREAM.MSG.DELETE.{WORK}", {"seq": 1})

        subscription = await store.client.jetstream().pull_subscribe(
            "", durable="result-store", stream=RESULTS
        )
        (message,) = await subscription.fetch(1, timeout=REPLY_TIMEOUT_SECONDS)
        await message.ack_sync(timeout=REPLY_TIMEOUT_SECONDS)
        assert message.subject == outcome


async def test_nats_refuses_a_wrong_password(queue: NATSServer) -> None:
    """Test without an auth callout service: workers time out, other users are refused at once."""
    for user in ("admin", "runtime-api", "worker.echo.uid"):
        connection = NATSConnection()
        with pytest.raises((nats.errors.Error, TimeoutError)):
            await connection.client.connect(
                queue.url,
                user=user,
                password=f"not {queue.password('admin')}",
                allow_reconnect=False,
                connect_timeout=1,
                error_cb=connection.record_error,
            )
        await connection.client.close()
