"""Permissions of each program's queue user: enough for its work, and no other program's."""

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
ANSWER_SECONDS = 30
WORK, RESULTS, LETTERS = "RUNTIME_INVOCATIONS", "RUNTIME_RESULTS", "RUNTIME_DLQ"
OURS = (WORK, RESULTS, LETTERS, "KV_runtime-invocations", "KV_runtime-workers")
NOBODY_PUBLISHES = (
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.USER.AUTH",
    "something.else",
    *(f"$JS.API.STREAM.DELETE.{stream}" for stream in OURS),
    f"$JS.API.CONSUMER.MSG.NEXT.{WORK}.echo",
    f"$JS.ACK.{WORK}.echo.1.1.1.1.0",
)
NOBODY_HEARS = (">", "$SYS.>", "runtime.serverless.>", "_INBOX_echo_uid.>", "$O.>")
MAY_NOT_PUBLISH = {
    "runtime-api": (
        "$KV.runtime-workers.echo.one",
        f"$JS.API.CONSUMER.CREATE.{WORK}.mine",
        f"$JS.API.CONSUMER.DELETE.{WORK}.echo",
        f"$JS.API.STREAM.MSG.DELETE.{RESULTS}",
        *(f"$JS.API.STREAM.PURGE.{stream}" for stream in OURS),
    ),
    "activator": (),
    "callout": (
        "_INBOX.someone",
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
MAY_NOT_HEAR = {
    "runtime-api": ("$KV.runtime-workers.>", "$SYS.REQ.USER.AUTH"),
    "activator": ("$SYS.REQ.USER.AUTH",),
    "callout": ("_INBOX.>", "$KV.runtime-invocations.>"),
    "result-store": ("$KV.runtime-invocations.>", "$SYS.REQ.USER.AUTH"),
}


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    """Start a server in which no stream exists yet."""
    async with new_nats_server(tmp_path / "queue") as made:
        yield made


async def asked(
    user: NATSConnection, verb: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send a request to JetStream and return the answer, which must not be an error."""
    data = b"" if body is None else json.dumps(body).encode()
    said = await user.client.request(f"$JS.API.{verb}", data, timeout=ANSWER_SECONDS)
    answer: dict[str, Any] = json.loads(said.data)
    assert "error" not in answer, answer
    return answer


async def test_every_nats_user_is_denied_other_subjects(queue: NATSServer) -> None:
    wrong = []
    for name, forbidden in MAY_NOT_PUBLISH.items():
        async with connect_as(queue, name, queue.password(name)) as user:
            for subject in (*NOBODY_PUBLISHES, *forbidden):
                wrong += [(name, subject)] if await user.can_publish(subject) else []
            for subject in (*NOBODY_HEARS, *MAY_NOT_HEAR[name]):
                wrong += [(name, subject)] if await user.can_subscribe(subject) else []
    assert wrong == []


async def test_every_nats_user_may_use_its_subjects(queue: NATSServer) -> None:
    outcome, call = "runtime.serverless.result.echo", "runtime.serverless.invoke.echo.one"
    async with (
        connect_as(queue, "runtime-api", queue.password("runtime-api")) as api,
        connect_as(queue, "activator", queue.password("activator")) as activator,
        connect_as(queue, "result-store", queue.password("result-store")) as store,
    ):
        for wire in stream_configs(NAMES, StreamLimits()):
            await asked(api, f"STREAM.CREATE.{wire['name']}", wire)
            await asked(activator, f"STREAM.UPDATE.{wire['name']}", wire)
        made = {"stream_name": WORK, "config": consumer_config(NAMES, "echo", 1)}
        await asked(activator, f"CONSUMER.CREATE.{WORK}.echo.{NAMES.call_filter('echo')}", made)
        for subject in (call, outcome, NAMES.record_subject("echo.one")):
            await api.client.jetstream().publish(subject, b"{}")
        await activator.client.jetstream().publish("runtime.serverless.dlq.echo", b"{}")
        listed = await asked(activator, f"CONSUMER.LIST.{WORK}", {"offset": 0})
        assert listed["consumers"][0]["num_pending"] == 1
        await asked(api, f"STREAM.MSG.DELETE.{WORK}", {"seq": 1})

        subscription = await store.client.jetstream().pull_subscribe(
            "", durable="result-store", stream=RESULTS
        )
        (told,) = await subscription.fetch(1, timeout=ANSWER_SECONDS)
        await told.ack_sync(timeout=ANSWER_SECONDS)
        assert told.subject == outcome


async def test_nats_refuses_a_wrong_password(queue: NATSServer) -> None:
    """Test without an auth callout service.

    Workers wait in vain, other users are refused at once.
    """
    for user in ("admin", "runtime-api", "worker.echo.uid"):
        stranger = NATSConnection()
        with pytest.raises((nats.errors.Error, TimeoutError)):
            await stranger.client.connect(
                queue.url,
                user=user,
                password=f"not {queue.password('admin')}",
                allow_reconnect=False,
                connect_timeout=1,
                error_cb=stranger.record_error,
            )
        await stranger.client.close()
