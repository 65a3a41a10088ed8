"""The application keys under which handlers find services and settings."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from aiohttp import web

from apiserver.dashboard.broadcaster import DashboardBroadcaster
from apiserver.errors import ServiceUnavailableError
from apiserver.functions.port import FunctionServicePort
from apiserver.health.readiness import Readiness
from apiserver.health.service import HealthService
from apiserver.http.background import BackgroundTasks
from apiserver.http.byte_budget import ByteBudget
from apiserver.http.long_poll import LongPolls
from apiserver.http.static_files import Asset
from apiserver.invocations.port import InvocationListsPort, InvocationServicePort
from apiserver.limits import RequestLimits
from apiserver.operations.port import JobServicePort
from apiserver.specs.port import SpecServicePort
from apiserver.stock_pools.port import PoolServicePort
from apiserver.stock_units.port import StockServicePort
from apiserver.storages.port import StorageServicePort
from apiserver.units.port import UnitServicePort

T = TypeVar("T")

HEALTH = web.AppKey("health", HealthService)
READINESS = web.AppKey("readiness", Readiness)
SWAGGER_ASSETS: web.AppKey[Mapping[str, Asset]] = web.AppKey("assets")
UI_ASSETS: web.AppKey[Mapping[str, Asset]] = web.AppKey("ui assets")
OPENAPI_DOCUMENT: web.AppKey[Callable[[], Mapping[str, object]]] = web.AppKey("document")
REQUEST_LIMITS = web.AppKey("limits", RequestLimits)
BACKGROUND_TASKS = web.AppKey("detached", BackgroundTasks)
LONG_POLLS = web.AppKey("waits", LongPolls)
BYTE_BUDGET = web.AppKey("in_flight", ByteBudget)
STOCK: web.AppKey[StockServicePort | None] = web.AppKey("stock")
POOLS: web.AppKey[PoolServicePort | None] = web.AppKey("pools")
SPECS: web.AppKey[SpecServicePort | None] = web.AppKey("specs")
JOBS: web.AppKey[JobServicePort | None] = web.AppKey("jobs")
STORAGES: web.AppKey[StorageServicePort | None] = web.AppKey("storages")
UNITS: web.AppKey[UnitServicePort | None] = web.AppKey("units")
FUNCTIONS: web.AppKey[FunctionServicePort | None] = web.AppKey("functions")
INVOCATIONS: web.AppKey[InvocationServicePort | None] = web.AppKey("invocations")
INVOCATION_LISTS: web.AppKey[InvocationListsPort | None] = web.AppKey("invocation_index")
DASHBOARD: web.AppKey[DashboardBroadcaster | None] = web.AppKey("feed")

_RETRY_AFTER_SECONDS: Final = 60


def required_service(request: web.Request, key: web.AppKey[T | None]) -> T:
    """Return the service of a route; raises ServiceUnavailableError without Kubernetes."""
    found = request.app[key]
    if found is None:
        raise ServiceUnavailableError(
            "this process works without Kubernetes, by its configuration (kubeMode: off)",
            retry_after=_RETRY_AFTER_SECONDS,
        )
    return found
