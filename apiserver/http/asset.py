"""Answers that are files."""

from collections.abc import Mapping

from aiohttp import hdrs, web

from apiserver.errors import NotFoundError
from apiserver.http.static_files import Asset


def asset_response(request: web.Request, assets: Mapping[str, Asset], name: str) -> web.Response:
    """The file of that name; a browser that has it is told so."""
    asset = assets.get(name)
    if asset is None:
        raise NotFoundError("there is nothing at this path")
    headers = {
        hdrs.ETAG: f'"{asset.etag}"',
        hdrs.CACHE_CONTROL: "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get(hdrs.IF_NONE_MATCH) == headers[hdrs.ETAG]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=asset.body, content_type=asset.media_type, headers=headers)
