"""The Swagger page and the document that it shows."""

from aiohttp import web

from apiserver.http import keys
from apiserver.http.asset import asset_response
from apiserver.http.static_files import SWAGGER_CSP, SWAGGER_INDEX_HTML


async def get_page(_: web.Request) -> web.Response:
    """Serve the page; its policy keeps the browser from asking any other host."""
    return web.Response(
        text=SWAGGER_INDEX_HTML,
        content_type="text/html",
        headers={"Content-Security-Policy": SWAGGER_CSP},
    )


async def get_document(request: web.Request) -> web.Response:
    """Serve the OpenAPI document."""
    return web.json_response(request.app[keys.OPENAPI_DOCUMENT]())


async def get_asset(request: web.Request) -> web.Response:
    """Serve a file of the page."""
    return asset_response(request, request.app[keys.SWAGGER_ASSETS], request.match_info["name"])
