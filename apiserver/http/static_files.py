"""Static files in memory, served with an ETag."""

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web

from apiserver.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Asset:
    """A file in memory."""

    body: bytes
    media_type: str
    etag: str


def create_asset(name: str, body: bytes) -> Asset:
    """Create an asset whose media type follows from its name."""
    media_type, _ = mimetypes.guess_type(name)
    return Asset(
        body, media_type or "application/octet-stream", hashlib.sha256(body).hexdigest()[:16]
    )


def asset_response(request: web.Request, assets: Mapping[str, Asset], name: str) -> web.Response:
    """Return the named file, or 304 if the browser has it; raises NotFoundError."""
    asset = assets.get(name)
    if asset is None:
        raise NotFoundError("no such path")
    headers = {
        hdrs.ETAG: f'"{asset.etag}"',
        hdrs.CACHE_CONTROL: "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get(hdrs.IF_NONE_MATCH) == headers[hdrs.ETAG]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=asset.body, content_type=asset.media_type, headers=headers)
