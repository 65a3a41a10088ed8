"""The Swagger page and the OpenAPI document that it shows; no file comes from another host."""

from collections.abc import Mapping
from importlib import resources
from typing import Final

from aiohttp import web

from apiserver.http import keys
from apiserver.http.static_files import Asset, asset_response, create_asset

SWAGGER_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

SWAGGER_INDEX_HTML: Final = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>GPU Runtime API</title>
    <link rel="stylesheet" href="/swagger/static/swagger-ui.css">
    <link rel="icon" type="image/png" href="/swagger/static/favicon-32x32.png">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/swagger/static/swagger-ui-bundle.js"></script>
    <script src="/swagger/static/start.js"></script>
  </body>
</html>
"""

# The bundled swagger-ui reads ?url= and ?configUrl=, so the query is removed first.
_SWAGGER_START_SCRIPT: Final = """history.replaceState(null, "", location.pathname + location.hash);
window.ui = SwaggerUIBundle({
  url: "/swagger/doc.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
"""
_BUNDLED_FILES: Final = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png")


def load_swagger_assets() -> Mapping[str, Asset]:
    """Return our start script and the bundled files of swagger-ui, by file name."""
    bundle = resources.files("aiohttp_apispec") / "static"
    bodies = {name: (bundle / name).read_bytes() for name in _BUNDLED_FILES}
    return {
        name: create_asset(name, body)
        for name, body in {**bodies, "start.js": _SWAGGER_START_SCRIPT.encode()}.items()
    }


async def get_page(_: web.Request) -> web.Response:
    """Serve the page with a policy that keeps the browser from other hosts."""
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
