"""The streams and buckets that must be there before the first invocation."""

import logging
from typing import Final

import msgspec

from apiserver.clock import Clock
from apiserver.jetstream.answers import NAME_IN_USE, Answer, Trouble, read
from apiserver.jetstream.caller import Caller
from apiserver.queue import QueueConnection
from apiserver.queue_errors import QueueError
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, Wire, streams

RETRY_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class Layout:
    """Makes the streams at every new connection: the queue may have lost its disk meanwhile."""

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
        number = 0
        while True:
            number = await self._connection.after(number)
            try:
                await self.ensure()
            except QueueError as error:
                log.warning("queue_layout_failed", extra={"queueError": str(error)})
                number = 0
                await self._clock.sleep(RETRY_SECONDS)

    async def ensure(self) -> None:
        """Make what is missing, and change what is otherwise."""
        for wire in self._wanted:
            await self._ensure(wire)

    async def _ensure(self, wire: Wire) -> None:
        body, name = msgspec.json.encode(wire), wire["name"]
        made = await self._caller.ask(f"$JS.API.STREAM.CREATE.{name}", body)
        if _trouble(made.data).err_code == NAME_IN_USE:
            made = await self._caller.ask(f"$JS.API.STREAM.UPDATE.{name}", body)
        read(made.data, Answer)


def _trouble(data: bytes) -> Trouble:
    return msgspec.json.decode(data, type=Answer).error or Trouble()
