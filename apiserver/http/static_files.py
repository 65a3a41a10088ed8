"""Files of pages; those of Swagger, all served from here: no request leaves the host."""

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

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

# The bundled swagger-ui takes ?url= and ?configUrl= from the query, so the query goes first.
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


@dataclass(frozen=True, slots=True)
class Asset:
    """A file in memory."""

    body: bytes
    media_type: str
    etag: str


def load_swagger_assets() -> Mapping[str, Asset]:
    """Our start script and what aiohttp-apispec bundles of swagger-ui, by file name."""
    bundle = resources.files("aiohttp_apispec") / "static"
    bodies = {name: (bundle / name).read_bytes() for name in _BUNDLED_FILES}
    return {
        name: create_asset(name, body)
        for name, body in {**bodies, "start.js": _SWAGGER_START_SCRIPT.encode()}.items()
    }


def create_asset(name: str, body: bytes) -> Asset:
    """The file of that name, whose ending tells its type."""
    media_type, _ = mimetypes.guess_type(name)
    return Asset(
        body, media_type or "application/octet-stream", hashlib.sha256(body).hexdigest()[:16]
    )
