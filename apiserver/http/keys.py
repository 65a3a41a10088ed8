"""Where handlers find what main has built."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from aiohttp import web

from apiserver.dashboard.broadcaster import Feed
from apiserver.errors import ServiceUnavailableError
from apiserver.functions.port import Functions
from apiserver.health.readiness import Readiness
from apiserver.health.service import Health
from apiserver.http.background import Detached
from apiserver.http.byte_budget import InFlightBytes
from apiserver.http.long_poll import Waits
from apiserver.http.static_files import Asset
from apiserver.invocations.port import InvocationIndex, Invocations
from apiserver.limits import Limits
from apiserver.operations.port import Jobs
from apiserver.specs.port import Specs
from apiserver.stock_pools.port import Pools
from apiserver.stock_units.port import Stock
from apiserver.storages.port import Storages
from apiserver.units.port import Units

T = TypeVar("T")

HEALTH = web.AppKey("health", Health)
READINESS = web.AppKey("readiness", Readiness)
ASSETS: web.AppKey[Mapping[str, Asset]] = web.AppKey("assets")
UI_ASSETS: web.AppKey[Mapping[str, Asset]] = web.AppKey("ui assets")
DOCUMENT: web.AppKey[Callable[[], Mapping[str, object]]] = web.AppKey("document")
LIMITS = web.AppKey("limits", Limits)
DETACHED = web.AppKey("detached", Detached)
WAITS = web.AppKey("waits", Waits)
IN_FLIGHT = web.AppKey("in_flight", InFlightBytes)
STOCK: web.AppKey[Stock | None] = web.AppKey("stock")
POOLS: web.AppKey[Pools | None] = web.AppKey("pools")
SPECS: web.AppKey[Specs | None] = web.AppKey("specs")
JOBS: web.AppKey[Jobs | None] = web.AppKey("jobs")
STORAGES: web.AppKey[Storages | None] = web.AppKey("storages")
UNITS: web.AppKey[Units | None] = web.AppKey("units")
FUNCTIONS: web.AppKey[Functions | None] = web.AppKey("functions")
INVOCATIONS: web.AppKey[Invocations | None] = web.AppKey("invocations")
INVOCATION_INDEX: web.AppKey[InvocationIndex | None] = web.AppKey("invocation_index")
FEED: web.AppKey[Feed | None] = web.AppKey("feed")

_RETRY_AFTER: Final = 60


def service(request: web.Request, key: web.AppKey[T | None]) -> T:
    """The use cases behind a route; without Kubernetes there are none."""
    found = request.app[key]
    if found is None:
        raise ServiceUnavailableError(
            "this process works without Kubernetes, by its configuration (kubeMode: off)",
            retry_after=_RETRY_AFTER,
        )
    return found
