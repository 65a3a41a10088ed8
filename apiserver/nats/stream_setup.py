"""Creation of the streams and buckets that invocations need."""

import asyncio
import logging
from typing import Final

import msgspec

from apiserver.nats.connection import QueueConnection
from apiserver.nats.errors import QueueError
from apiserver.nats.replies import (
    JetStreamReply,
    ReplyErrorInfo,
    StreamCreateReply,
    decode_reply,
)
from apiserver.nats.requests import JetStreamRequests
from shared.clock import Clock
from shared.invocation.jetstream import STREAM_NAME_IN_USE
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import JetStreamConfig, StreamLimits, stream_configs

RETRY_INTERVAL_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class StreamSetup:
    """The setup of the streams at every new connection: the queue may have lost its disk.

    Streams that are deleted later are created again when a request misses one.
    """

    def __init__(
        self,
        connection: QueueConnection,
        requests: JetStreamRequests,
        names: QueueNames,
        limits: StreamLimits,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._requests = requests
        self._stream_configs = stream_configs(names, limits)
        self._clock = clock

    async def run(self) -> None:
        """Ensure the streams until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._ensure_on_connect())
            group.create_task(self._create_on_missing())

    async def ensure_streams(self) -> None:
        """Create missing streams and update those with another configuration; raises QueueError."""
        for config in self._stream_configs:
            if not await self._create_stream(config):
                subject = f"$JS.API.STREAM.UPDATE.{config['name']}"
                await self._requests.request_as(
                    JetStreamReply, subject, msgspec.json.encode(config)
                )

    async def _create_missing(self) -> None:
        """Create missing streams only: another configuration may be that of a newer replica."""
        for config in self._stream_configs:
            await self._create_stream(config)

    async def _ensure_on_connect(self) -> None:
        connect_count = 0
        while True:
            connect_count = await self._connection.wait_for_connect(connect_count)
            try:
                await self.ensure_streams()
            except QueueError as error:
                log.warning("queue_layout_failed", extra={"queueError": str(error)})
                connect_count = 0
                await self._clock.sleep(RETRY_INTERVAL_SECONDS)

    async def _create_on_missing(self) -> None:
        """Create streams once for all requests that miss one within some seconds."""
        while True:
            await self._requests.stream_missing.wait()
            self._requests.stream_missing.clear()
            try:
                await self._create_missing()
            except QueueError as error:
                log.warning("queue_layout_failed", extra={"queueError": str(error)})
            await self._clock.sleep(RETRY_INTERVAL_SECONDS)

    async def _create_stream(self, config: JetStreamConfig) -> bool:
        """Create a stream; return False if one exists with another configuration."""
        name = config["name"]
        reply = await self._requests.request(
            f"$JS.API.STREAM.CREATE.{name}", msgspec.json.encode(config)
        )
        if _reply_error_info(reply.data).err_code == STREAM_NAME_IN_USE:
            return False
        if decode_reply(reply.data, StreamCreateReply).did_create:
            log.info("stream_made", extra={"stream": name})
        return True


def _reply_error_info(data: bytes) -> ReplyErrorInfo:
    return msgspec.json.decode(data, type=JetStreamReply).error or ReplyErrorInfo()
