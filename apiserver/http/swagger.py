"""The Swagger page and the document that it shows."""

from aiohttp import web

from apiserver.http import keys
from apiserver.http.asset import file
from apiserver.http.static_files import INDEX, POLICY


async def page(_: web.Request) -> web.Response:
    """Serve the page; its policy keeps the browser from asking any other host."""
    return web.Response(
        text=INDEX, content_type="text/html", headers={"Content-Security-Policy": POLICY}
    )


async def doc(request: web.Request) -> web.Response:
    """Serve the OpenAPI document."""
    return web.json_response(request.app[keys.DOCUMENT]())


async def static(request: web.Request) -> web.Response:
    """Serve a file of the page."""
    return file(request, request.app[keys.ASSETS], request.match_info["name"])
