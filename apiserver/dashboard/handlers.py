"""The routes of the dashboard: its page, its files and its stream of events."""

import asyncio
from collections.abc import Mapping
from importlib import resources
from typing import Final

import msgspec
from aiohttp import hdrs, web

from apiserver.dashboard.broadcaster import DashboardBroadcaster, Subscriber
from apiserver.dashboard.frame import (
    EVENT_STREAM_MEDIA_TYPE,
    LAST_EVENT_ID_HEADER,
    encode_event,
    encode_retry,
)
from apiserver.http import keys
from apiserver.http.access_log import ACCESS_LOG_TIMER
from apiserver.http.deadline import DEADLINE
from apiserver.http.static_files import Asset, asset_response, create_asset

DASHBOARD: Final = web.AppKey("dashboard", DashboardBroadcaster)
UI_ASSETS: Final[web.AppKey[Mapping[str, Asset]]] = web.AppKey("ui assets")
UI_INDEX_FILE: Final = "index.html"
# Scripts and styles from our own files only; no text becomes a script or HTML.
UI_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
RECONNECT_MILLISECONDS: Final = 2000
# A viewer whose connection is blocked for this long is disconnected; it reconnects itself.
WRITE_TIMEOUT_SECONDS: Final = 10.0

_STREAM_HEADERS: Final = {
    hdrs.CONTENT_TYPE: EVENT_STREAM_MEDIA_TYPE,
    hdrs.CACHE_CONTROL: "no-store",
    "X-Accel-Buffering": "no",  # a proxy that buffers events delays them
    "X-Content-Type-Options": "nosniff",
}


async def get_page(request: web.Request) -> web.Response:
    """Serve the page."""
    response = asset_response(request, request.app[UI_ASSETS], UI_INDEX_FILE)
    response.headers["Content-Security-Policy"] = UI_CSP
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


async def get_asset(request: web.Request) -> web.Response:
    """Serve a file of the page."""
    return asset_response(request, request.app[UI_ASSETS], request.match_info["name"])


async def stream_events(request: web.Request) -> web.StreamResponse:
    """Stream updates until the viewer disconnects, is too slow, or the process stops."""
    with keys.required_service(request, DASHBOARD).subscribe() as subscriber:
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        response.force_close()  # no request follows on this connection, so a stop waits for none
        request[DEADLINE].disable()
        await response.prepare(request)
        request[ACCESS_LOG_TIMER].log_answered(response.status)
        digest = request.headers.get(LAST_EVENT_ID_HEADER, "")
        updates = _send_updates(response, subscriber, digest)
        try:
            await request.app[keys.LONG_POLLS].run_until_stop(updates)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass  # the viewer has disconnected
    return response


async def _send_updates(
    response: web.StreamResponse, subscriber: Subscriber, last_digest: str
) -> None:
    """Send each frame that the viewer does not have, and always a heartbeat."""
    await response.write(encode_retry(RECONNECT_MILLISECONDS))
    while True:
        frame, heartbeat = await subscriber.receive()
        events = encode_event("beat", msgspec.json.encode(heartbeat))
        if frame.body and frame.digest != last_digest:
            last_digest = frame.digest
            events = encode_event("view", frame.body, frame.digest) + events
        async with asyncio.timeout(WRITE_TIMEOUT_SECONDS):
            await response.write(events)


def load_ui_assets() -> Mapping[str, Asset]:
    """Return every file of the page, by name."""
    files = (resources.files("apiserver.dashboard") / "static").iterdir()
    return {file.name: create_asset(file.name, file.read_bytes()) for file in files}
