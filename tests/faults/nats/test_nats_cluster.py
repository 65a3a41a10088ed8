"""The queue of the ha overlay after the loss of one of its servers."""

import os
from base64 import b64decode
from pathlib import Path

import nats
from nats.js.api import StreamConfig
from nats.js.errors import APIError, NoStreamResponseError

from hack.cluster.control_plane import ControlPlane
from serverless.credentials.secret import missing_values
from tests.support.cluster.overlays import render_overlay
from tests.support.queue.overlay_nats import run_overlay_nats
from tests.support.wait.eventually import eventually

TEMPORARY_ERRORS = (APIError, NoStreamResponseError, nats.errors.Error, TimeoutError)


async def test_a_message_is_kept_after_the_loss_of_the_stream_leader(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    objects = await render_overlay(control_plane, "ha")
    secret = missing_values({}, os.urandom)
    async with run_overlay_nats(objects, secret, tmp_path) as servers:
        urls = [server.url for server, _ in servers]
        client = await nats.connect(urls, user="admin", password=password(secret))
        stream = client.jetstream()
        await eventually(
            lambda: stream.add_stream(StreamConfig(name="kept", subjects=["kept"], num_replicas=3)),
            tolerate=TEMPORARY_ERRORS,
        )
        await eventually(lambda: stream.publish("kept", b"before"), tolerate=TEMPORARY_ERRORS)
        cluster = (
            await eventually(
                lambda: stream.stream_info("kept"),
                lambda info: info.cluster and info.cluster.leader,
                tolerate=TEMPORARY_ERRORS,
            )
        ).cluster
        assert cluster is not None
        (leader,) = [process for server, process in servers if server.name == cluster.leader]
        await leader.kill()
        await eventually(lambda: stream.publish("kept", b"after"), tolerate=TEMPORARY_ERRORS)
        first = await eventually(lambda: stream.get_msg("kept", 1), tolerate=TEMPORARY_ERRORS)
        await client.close()

    assert first.data == b"before"


def password(secret: dict[str, str]) -> str:
    return b64decode(secret["admin"]).decode()
