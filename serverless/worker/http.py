"""The HTTP server of a worker: probes, metrics and drain."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from shared.config.address import Address

SHUTDOWN_SECONDS = 2.0


class CannotListenError(Exception):
    """The address is in use or does not belong to this host."""


class WorkerServer:
    """Serves probes and metrics; `GET /drain` returns once no invocation runs."""

    def __init__(
        self,
        registry: CollectorRegistry,
        not_ready: Callable[[], Sequence[str]],
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        self._registry = registry
        self._not_ready = not_ready
        self._drain_worker = drain

    @asynccontextmanager
    async def serving(self, address: Address) -> AsyncIterator[None]:
        """Serve for the length of the block; raises CannotListenError."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", make_aiohttp_handler(self._registry))
        app.router.add_get("/drain", self._drain)
        app.router.add_post("/drain", self._drain)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, address.host or None, address.port).start()
        except OSError as error:
            await runner.cleanup()
            raise CannotListenError(f"cannot listen on {address}: {error.strerror}") from error
        try:
            yield
        finally:
            await runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"data": {"status": "alive"}})

    async def _readyz(self, _: web.Request) -> web.Response:
        if reasons := list(self._not_ready()):
            return web.json_response({"data": {"reasons": reasons}}, status=503)
        return web.json_response({"data": {"status": "ready"}})

    async def _drain(self, _: web.Request) -> web.Response:
        await self._drain_worker()
        return web.json_response({"data": {"status": "drained"}})
