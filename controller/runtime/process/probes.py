"""HTTP server for liveness, readiness and metrics, on one address or two."""

import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from controller.runtime.errors import CannotListenError

SHUTDOWN_TIMEOUT_SECONDS: Final = 2.0

ReadinessCheck = Callable[[], Sequence[str]]


class ProbeServer:
    """Serves the probes; `not_ready` returns the reasons, empty if ready."""

    def __init__(self, registry: CollectorRegistry, not_ready: ReadinessCheck) -> None:
        self._registry = registry
        self._not_ready = not_ready

    @asynccontextmanager
    async def serve(
        self,
        probe_address: tuple[str, int],
        metrics_address: tuple[str, int],
        metrics_tls: ssl.SSLContext | None = None,
    ) -> AsyncIterator[None]:
        """Serve during the block; equal addresses share one listener."""
        health = [web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)]
        metrics = [web.get("/metrics", make_aiohttp_handler(self._registry))]
        if probe_address == metrics_address:
            async with serve_routes(probe_address, [*health, *metrics]):
                yield
            return
        async with (
            serve_routes(probe_address, health),
            serve_routes(metrics_address, metrics, metrics_tls),
        ):
            yield

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"data": {"status": "alive"}})

    async def _readyz(self, _: web.Request) -> web.Response:
        if reasons := list(self._not_ready()):
            return web.json_response({"data": {"reasons": reasons}}, status=503)
        return web.json_response({"data": {"status": "ready"}})


@asynccontextmanager
async def serve_routes(
    address: tuple[str, int], routes: list[web.RouteDef], tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_TIMEOUT_SECONDS)
    await runner.setup()
    try:
        await start_site(runner, *address, tls)
        yield
    finally:
        await runner.cleanup()


async def start_site(
    runner: web.AppRunner, host: str, port: int, tls: ssl.SSLContext | None
) -> None:
    try:
        await web.TCPSite(runner, host or None, port, ssl_context=tls).start()
    except OSError as error:
        raise CannotListenError(
            f"cannot listen on {host}:{port}: {error.strerror}. "
            "Stop the process that uses the address, or configure another one."
        ) from error
