"""Where handlers find what main has built."""

from collections.abc import Mapping

from aiohttp import web

from apiserver.assets import Asset
from apiserver.services.health import Health
from apiserver.services.readiness import Readiness

HEALTH = web.AppKey("health", Health)
READINESS = web.AppKey("readiness", Readiness)
ASSETS: web.AppKey[Mapping[str, Asset]] = web.AppKey("assets")
DOCUMENT: web.AppKey[Mapping[str, object]] = web.AppKey("document")
