"""Where the answers to requests arrive: one subscription for all of them."""

import asyncio
import itertools
from collections.abc import Mapping
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

STATUS_HEADER: Final = "Status"
NO_RESPONDERS_STATUS: Final = "503"


class ReplyInbox:
    """Requests on one client, by number: its own have random names, and take a third longer."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._prefix = f"{client.new_inbox()}."
        self._counter = itertools.count()
        self._pending_replies: dict[str, asyncio.Future[Msg]] = {}

    async def open(self) -> None:
        """Begin to listen; the client itself goes on with it on a new connection."""
        await self.client.subscribe(f"{self._prefix}*", cb=self._on_reply)

    async def request(
        self,
        subject: str,
        payload: bytes,
        headers: Mapping[str, str] | None,
        timeout_seconds: float,
    ) -> Msg:
        """The answer to a request; TimeoutError, nats.errors.Error."""
        place, sent = f"{self._prefix}{next(self._counter)}", dict(headers) if headers else None
        awaited: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._pending_replies[place] = awaited
        try:
            await self.client.publish(subject, payload, place, sent)
            answer = await asyncio.wait_for(awaited, timeout_seconds)
        finally:
            del self._pending_replies[place]
        if answer.headers and answer.headers.get(STATUS_HEADER) == NO_RESPONDERS_STATUS:
            raise nats.errors.NoRespondersError
        return answer

    async def _on_reply(self, reply: Msg) -> None:
        awaited = self._pending_replies.get(reply.subject)
        if awaited is not None and not awaited.done():
            awaited.set_result(reply)
