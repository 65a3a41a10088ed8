"""Local development: the framework as a child process, and the streams of one function."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nats.errors
from nats.aio.client import Client

from serverless.nats.close import close_quietly
from serverless.nats.credentials import redact_url
from serverless.nats.errors import JetStreamApiError, QueueError
from serverless.nats.requests import JetStreamClient
from serverless.worker.command_line import CommandLine
from serverless.worker.framework.client import FrameworkEndpoint
from serverless.worker.settings import WorkerSettings
from shared.config.address import Address
from shared.invocation.jetstream import CONSUMER_ALREADY_EXISTS, STREAM_NAME_IN_USE
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import (
    JetStreamConfig,
    StreamLimits,
    body_bucket_config,
    consumer_config,
    stream_configs,
)

MAX_WORKERS: Final = 1
TERMINATE_TIMEOUT_SECONDS: Final = 5.0
ANY_LOCAL_PORT: Final = Address("127.0.0.1", 0)

_ALREADY_EXISTS_CODES: Final = frozenset({STREAM_NAME_IN_USE, CONSUMER_ALREADY_EXISTS})

log = logging.getLogger(__name__)


class LocalError(Exception):
    """A requirement of local development is not met."""


@asynccontextmanager
async def run_framework(
    script: Path, endpoint: FrameworkEndpoint, *, must_stay_up: bool
) -> AsyncIterator[None]:
    """Run a script that serves on the socket, for the length of the block.

    The script may exit with status 0 unless it `must_stay_up`: Ctrl-C reaches both processes.
    """
    environment = {**os.environ, "GPU_RUNTIME_SOCKET": endpoint.socket_path}
    child = await asyncio.create_subprocess_exec(sys.executable, str(script), env=environment)
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_watch_exit(child, script, must_stay_up=must_stay_up))
            yield
            watch.cancel()
    except* LocalError as errors:
        raise LocalError(str(errors.exceptions[0])) from None
    finally:
        await _terminate(child)


async def _terminate(child: asyncio.subprocess.Process) -> None:
    """Terminate the child; kill it after a timeout."""
    with suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(TERMINATE_TIMEOUT_SECONDS):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()


async def _watch_exit(
    child: asyncio.subprocess.Process, script: Path, *, must_stay_up: bool
) -> None:
    if status := await child.wait():
        raise LocalError(f"{script} exited with status {status}")
    if must_stay_up:
        raise LocalError(f"{script} exited without a response: does it call serve?")
    log.warning("function_ended", extra={"script": str(script)})


def local_settings(command_line: CommandLine, endpoint: FrameworkEndpoint) -> WorkerSettings:
    """Return the settings that the environment would contain in a pod."""
    return WorkerSettings(
        function_name=command_line.request_id,
        worker=f"{command_line.request_id}-desk",
        concurrency=command_line.concurrency,
        framework=endpoint,
        http_addr=ANY_LOCAL_PORT,
    )


@dataclass(frozen=True, slots=True)
class OpenClient:
    """A client that is connected for a few requests only."""

    client: Client


async def prepare_queue(url: str, function_name: str) -> None:
    """Create missing streams and the consumer; existing ones are not changed."""
    names, limits, client = QueueNames(), StreamLimits(), Client()
    try:
        await client.connect(url, allow_reconnect=False, error_cb=_ignore_error)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise LocalError(f"cannot connect to NATS at {redact_url(url)}: {error}") from error
    jetstream = JetStreamClient(OpenClient(client))
    try:
        for config in (
            *stream_configs(names, limits),
            body_bucket_config(names, limits, function_name),
        ):
            await _create(jetstream, f"STREAM.CREATE.{config['name']}", config)
        consumer = consumer_config(names, function_name, MAX_WORKERS)
        stream = names.invocations_stream
        verb = f"CONSUMER.CREATE.{stream}.{consumer['name']}.{consumer['filter_subject']}"
        body = {"stream_name": stream, "config": consumer, "action": "create"}
        await _create(jetstream, verb, body)
    finally:
        await close_quietly(client)


async def _create(jetstream: JetStreamClient, verb: str, config: JetStreamConfig) -> None:
    try:
        await jetstream.call_api(verb, config)
    except QueueError as error:
        if isinstance(error, JetStreamApiError) and error.code in _ALREADY_EXISTS_CODES:
            return
        raise LocalError(f"NATS refused $JS.API.{verb}: {error}") from error


async def _ignore_error(_: Exception) -> None:
    """Drop an error that nats-py also raises."""
