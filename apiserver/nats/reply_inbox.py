"""The reply inbox: one subscription that receives the replies to all requests."""

import asyncio
import itertools
from collections.abc import Mapping

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from apiserver.nats.replies import NO_RESPONDERS_STATUS, STATUS_HEADER


class ReplyInbox:
    """An inbox with numbered reply subjects: the client's random ones take a third longer."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._prefix = f"{client.new_inbox()}."
        self._counter = itertools.count()
        self._pending_replies: dict[str, asyncio.Future[Msg]] = {}

    async def open(self) -> None:
        """Subscribe to the inbox; the client renews the subscription on a new connection."""
        await self.client.subscribe(f"{self._prefix}*", cb=self._on_reply)

    async def request(
        self,
        subject: str,
        payload: bytes,
        headers: Mapping[str, str] | None,
        timeout_seconds: float,
    ) -> Msg:
        """Return the reply to a request; raises TimeoutError, nats.errors.Error."""
        reply_subject = f"{self._prefix}{next(self._counter)}"
        pending: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._pending_replies[reply_subject] = pending
        try:
            sent_headers = dict(headers) if headers else None
            await self.client.publish(subject, payload, reply_subject, sent_headers)
            reply = await asyncio.wait_for(pending, timeout_seconds)
        finally:
            del self._pending_replies[reply_subject]
        if reply.headers and reply.headers.get(STATUS_HEADER) == NO_RESPONDERS_STATUS:
            raise nats.errors.NoRespondersError
        return reply

    async def _on_reply(self, reply: Msg) -> None:
        pending = self._pending_replies.get(reply.subject)
        if pending is not None and not pending.done():
            pending.set_result(reply)
