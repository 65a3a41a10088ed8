"""A function on a desk: the framework as a child process, and what the queue needs for it."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import nats.errors
from nats.aio.client import Client

from serverless.nats.close import leave
from serverless.nats.credentials import shown
from serverless.worker.command_line import CommandLine
from serverless.worker.framework.client import FrameworkPlace
from serverless.worker.settings import Settings
from shared.config.address import Address
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, Wire, body_bucket, consumer, streams

MOST_WORKERS: Final = 1
END_SECONDS: Final = 5.0
ANYWHERE: Final = Address("127.0.0.1", 0)

_THERE: Final = frozenset({10058, 10148})  # a stream or a consumer with other settings


log = logging.getLogger(__name__)


class LocalError(Exception):
    """What a desk needs is not there."""


@asynccontextmanager
async def framework(script: Path, place: FrameworkPlace, *, must_last: bool) -> AsyncIterator[None]:
    """The program of a file, serving on the socket for the length of the block.

    It may end by itself unless it `must_last`: Ctrl-C comes to it and to us at once.
    """
    environment = {**os.environ, "GPU_RUNTIME_SOCKET": place.socket}
    child = await asyncio.create_subprocess_exec(sys.executable, str(script), env=environment)
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_end_of(child, script, must_last=must_last))
            yield
            watch.cancel()
    except* LocalError as errors:
        raise LocalError(str(errors.exceptions[0])) from None
    finally:
        await _end(child)


async def _end(child: asyncio.subprocess.Process) -> None:
    """Ask it to end; a program that does not is killed."""
    with suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(END_SECONDS):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()


async def _end_of(child: asyncio.subprocess.Process, script: Path, *, must_last: bool) -> None:
    if status := await child.wait():
        raise LocalError(f"{script} has ended with status {status}")
    if must_last:
        raise LocalError(f"{script} has ended without an answer: does it call serve?")
    log.warning("function_ended", extra={"script": str(script)})


def settings(given: CommandLine, place: FrameworkPlace) -> Settings:
    """What the environment would say in a pod."""
    return Settings(
        request_id=given.request_id,
        worker=f"{given.request_id}-desk",
        concurrency=given.concurrency,
        framework=place,
        http_addr=ANYWHERE,
    )


async def prepare(url: str, request_id: str) -> None:
    """Make the streams and the consumer where they are missing; what is there stays as it is."""
    names, limits, client = QueueNames(), StreamLimits(), Client()
    try:
        await client.connect(url, allow_reconnect=False, error_cb=_ignored)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise LocalError(f"no queue at {shown(url)}: {error}") from error
    try:
        for wire in (*streams(names, limits), body_bucket(names, limits, request_id)):
            await _create(client, f"$JS.API.STREAM.CREATE.{wire['name']}", wire)
        made = consumer(names, request_id, MOST_WORKERS)
        stream = names.invocations_stream
        subject = f"$JS.API.CONSUMER.CREATE.{stream}.{made['name']}.{made['filter_subject']}"
        await _create(client, subject, {"stream_name": stream, "config": made, "action": "create"})
    finally:
        await leave(client)


async def _create(client: Client, subject: str, wire: Wire) -> None:
    try:
        answer = await client.request(subject, json.dumps(wire).encode(), timeout=5.0)
    except (nats.errors.Error, TimeoutError) as error:
        raise LocalError(f"the queue refuses {subject}: {error!r}") from error
    refusal = json.loads(answer.data).get("error")
    if refusal and refusal.get("err_code") not in _THERE:
        raise LocalError(f"the queue refuses {subject}: {refusal.get('description')}")


async def _ignored(_: Exception) -> None:
    """The library tells every error twice; the second time it is raised."""
