"""The streams and buckets that must be there before the first invocation."""

import asyncio
import logging
from typing import Final

import msgspec

from apiserver.clock import Clock
from apiserver.nats.connection import QueueConnection
from apiserver.nats.errors import QueueError
from apiserver.nats.replies import NAME_IN_USE, Answer, Made, Trouble, read
from apiserver.nats.requests import Caller
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, Wire, streams

RETRY_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class Layout:
    """Makes the streams at every new connection: the queue may have lost its disk meanwhile.

    Those that somebody deletes later are made again as soon as a call misses one.
    """

    def __init__(
        self,
        connection: QueueConnection,
        caller: Caller,
        names: QueueNames,
        limits: StreamLimits,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._caller = caller
        self._wanted = streams(names, limits)
        self._clock = clock

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._at_connects())
            group.create_task(self._at_absences())

    async def ensure(self) -> None:
        """Make what is missing, and change what is otherwise."""
        for wire in self._wanted:
            if not await self._made(wire):
                subject = f"$JS.API.STREAM.UPDATE.{wire['name']}"
                await self._caller.answer(Answer, subject, msgspec.json.encode(wire))

    async def _restore(self) -> None:
        """Make what is missing; what is otherwise may be another replica's newer wish."""
        for wire in self._wanted:
            await self._made(wire)

    async def _at_connects(self) -> None:
        number = 0
        while True:
            number = await self._connection.after(number)
            try:
                await self.ensure()
            except QueueError as error:
                log.warning("queue_layout_failed", extra={"queueError": str(error)})
                number = 0
                await self._clock.sleep(RETRY_SECONDS)

    async def _at_absences(self) -> None:
        """Once for all calls that miss a stream within some seconds."""
        while True:
            await self._caller.absence.wait()
            self._caller.absence.clear()
            try:
                await self._restore()
            except QueueError as error:
                log.warning("queue_layout_failed", extra={"queueError": str(error)})
            await self._clock.sleep(RETRY_SECONDS)

    async def _made(self, wire: Wire) -> bool:
        """Whether the stream is what it shall be now; not where there is another of its name."""
        name = wire["name"]
        said = await self._caller.ask(f"$JS.API.STREAM.CREATE.{name}", msgspec.json.encode(wire))
        if _trouble(said.data).err_code == NAME_IN_USE:
            return False
        if read(said.data, Made).did_create:
            log.info("stream_made", extra={"stream": name})
        return True


def _trouble(data: bytes) -> Trouble:
    return msgspec.json.decode(data, type=Answer).error or Trouble()
