"""The Swagger page and the document that it shows."""

from aiohttp import hdrs, web

from apiserver import keys
from apiserver.assets import INDEX, POLICY
from apiserver.errors import NotFoundError


async def page(_: web.Request) -> web.Response:
    """Serve the page; its policy keeps the browser from asking any other host."""
    return web.Response(
        text=INDEX, content_type="text/html", headers={"Content-Security-Policy": POLICY}
    )


async def doc(request: web.Request) -> web.Response:
    """Serve the OpenAPI document."""
    return web.json_response(request.app[keys.DOCUMENT])


async def static(request: web.Request) -> web.Response:
    """Serve a file of the page; a browser that has it is told so."""
    asset = request.app[keys.ASSETS].get(request.match_info["name"])
    if asset is None:
        raise NotFoundError("there is nothing at this path")
    headers = {hdrs.ETAG: f'"{asset.etag}"', hdrs.CACHE_CONTROL: "no-cache"}
    if request.headers.get(hdrs.IF_NONE_MATCH) == headers[hdrs.ETAG]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=asset.body, content_type=asset.media_type, headers=headers)
