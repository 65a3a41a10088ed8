"""Application keys, by which handlers find the services of the process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from aiohttp import web

from apiserver.config import RequestLimits
from apiserver.errors import ServiceUnavailableError
from apiserver.http.background import BackgroundTasks
from apiserver.http.body import ByteBudget
from apiserver.http.long_poll import LongPolls
from apiserver.http.static_files import Asset

T = TypeVar("T")

SWAGGER_ASSETS: web.AppKey[Mapping[str, Asset]] = web.AppKey("assets")
OPENAPI_DOCUMENT: web.AppKey[Callable[[], Mapping[str, object]]] = web.AppKey("document")
REQUEST_LIMITS = web.AppKey("limits", RequestLimits)
BACKGROUND_TASKS = web.AppKey("background_tasks", BackgroundTasks)
LONG_POLLS = web.AppKey("long_polls", LongPolls)
BYTE_BUDGET = web.AppKey("byte_budget", ByteBudget)

_RETRY_AFTER_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class ProvidedService(Generic[T]):
    """A service, and the key under which its handlers find it."""

    key: web.AppKey[T]
    service: T

    def set_in(self, app: web.Application) -> None:
        """Store the service in the application."""
        app[self.key] = self.service


def required_service(request: web.Request, key: web.AppKey[T]) -> T:
    """Return the service of a route; raise ServiceUnavailableError if the process lacks it."""
    service = request.app.get(key)
    if service is None:
        raise ServiceUnavailableError(
            "this process is configured to run without Kubernetes (kubeMode: off)",
            retry_after=_RETRY_AFTER_SECONDS,
        )
    return service
