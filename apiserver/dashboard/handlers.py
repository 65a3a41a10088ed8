"""The operations page, and the stream of events that it shows."""

import asyncio
from typing import Final

import msgspec
from aiohttp import hdrs, web

from apiserver.dashboard.assets import INDEX, POLICY
from apiserver.dashboard.broadcaster import Seat
from apiserver.http import keys
from apiserver.http.access_log import RECORDING
from apiserver.http.asset import file
from apiserver.http.deadline import DEADLINE
from apiserver.http.sse import LAST_EVENT_ID, MEDIA_TYPE, event, retry

RETRY_MILLISECONDS: Final = 2000
# A viewer whose connection takes nothing for this long comes back when it can.
WRITE_SECONDS: Final = 10.0

_STREAM: Final = {
    hdrs.CONTENT_TYPE: MEDIA_TYPE,
    hdrs.CACHE_CONTROL: "no-store",
    "X-Accel-Buffering": "no",  # a proxy that gathers events shows them late
    "X-Content-Type-Options": "nosniff",
}


async def page(request: web.Request) -> web.Response:
    """Serve the page."""
    response = file(request, request.app[keys.UI_ASSETS], INDEX)
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


async def static(request: web.Request) -> web.Response:
    """Serve a file of the page."""
    return file(request, request.app[keys.UI_ASSETS], request.match_info["name"])


async def events(request: web.Request) -> web.StreamResponse:
    """Tell what is to be seen until the viewer goes, is too slow, or the process stops."""
    with keys.service(request, keys.FEED).seat() as seat:
        response = web.StreamResponse(headers=_STREAM)
        response.force_close()  # no request follows on this connection: a stop waits for none
        request[DEADLINE].lift()
        await response.prepare(request)
        request[RECORDING].answered(response.status)
        known = request.headers.get(LAST_EVENT_ID, "")
        try:
            await request.app[keys.WAITS].until_stop(_tell(response, seat, known))
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass  # the viewer has gone
    return response


async def _tell(response: web.StreamResponse, seat: Seat, known: str) -> None:
    """Send the page where it is not the one that the viewer has, and always a sign of life."""
    await response.write(retry(RETRY_MILLISECONDS))
    while True:
        edition, beat = await seat.news()
        sent = event("beat", msgspec.json.encode(beat))
        if edition.body and edition.mark != known:
            known = edition.mark
            sent = event("view", edition.body, edition.mark) + sent
        async with asyncio.timeout(WRITE_SECONDS):
            await response.write(sent)
