"""A client of the dashboard's event stream, like a browser."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

EVENT_TIMEOUT_SECONDS = 60.0
EVENTS_PATH = "/ui/events"


@dataclass(frozen=True)
class ServerSentEvent:
    """One event with its decoded data."""

    name: str
    data: Any
    event_id: str


class EventStreamClient:
    """A reader of one event stream, event by event."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next_event(self) -> ServerSentEvent | None:
        """Return the next event; None after the server has ended the stream."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(EVENT_TIMEOUT_SECONDS):
            async for line in self.response.content:
                name, _, value = line.decode().strip().partition(": ")
                if name:
                    fields[name] = value
                elif "event" in fields:
                    data = json.loads(fields["data"])
                    return ServerSentEvent(fields["event"], data, fields.get("id", ""))
        return None

    async def next_view(self) -> ServerSentEvent:
        """Return the next complete view; raises AssertionError when the stream ends before it."""
        while (event := await self.next_event()) is not None:
            if event.name == "view":
                return event
        raise AssertionError("the stream has ended")

    async def next_heartbeat(self) -> Any:
        """Return the data of the next heartbeat; raises AssertionError when the stream ends."""
        while (event := await self.next_event()) is not None:
            if event.name == "beat":
                return event.data
        raise AssertionError("the stream has ended")


@asynccontextmanager
async def open_event_stream(
    url: str, *, last_event_id: str = ""
) -> AsyncIterator[EventStreamClient]:
    """Open the stream of the API at `url`, for a viewer that last saw `last_event_id`."""
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    # A view is longer than the default limit of a line.
    session = aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=None), read_bufsize=2**22, trust_env=False
    )
    async with session, session.get(url + EVENTS_PATH, headers=headers) as response:
        yield EventStreamClient(response)
