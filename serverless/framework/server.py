"""Serves a handler on the unix socket until a signal arrives."""

import asyncio
import inspect
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web

from serverless.framework.invocation import Invocation, parse_invocation
from serverless.framework.response import error_response, to_response
from shared.config import logfmt
from shared.invocation import framework_protocol
from shared.invocation.limits import MAX_ATTRIBUTE_BYTES, MAX_PAYLOAD_BYTES

DIRECTORY_MODE: Final = 0o770
SOCKET_MODE: Final = 0o660
MAX_THREADS: Final = 1000
# Longer than the grace period of every pod: a handler may use all of it.
SHUTDOWN_TIMEOUT_SECONDS: Final = 3600.0
# Attributes arrive as ASCII JSON, up to three times as long, and with spaces.
MAX_HEADER_FIELD_BYTES: Final = 4 * MAX_ATTRIBUTE_BYTES

Handler = Callable[[Invocation], object]

log = logging.getLogger(__name__)


def serve(handler: Handler) -> None:
    """Serve `handler` until SIGTERM or SIGINT; running invocations are finished."""
    logfmt.configure_logging("info", sys.stderr)
    asyncio.run(_run(handler, os.environ))


async def _run(handler: Handler, environment: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    path = Path(environment.get("GPU_RUNTIME_SOCKET") or framework_protocol.SOCKET_PATH)
    async with serving(create_app(handler, environment), path):
        log.info("framework_ready", extra={"socket": str(path)})
        await stop.wait()
        log.info("framework_stopping")


def create_app(handler: Handler, environment: Mapping[str, str]) -> web.Application:
    """Return the application of a handler."""
    app = web.Application(client_max_size=MAX_PAYLOAD_BYTES)
    invoke_path = environment.get("GPU_RUNTIME_INVOKE_PATH") or framework_protocol.INVOKE_PATH
    health_path = environment.get("GPU_RUNTIME_HEALTH_PATH") or framework_protocol.HEALTH_PATH
    app.router.add_post(invoke_path, _InvokeRoute(handler).post)
    app.router.add_get(health_path, _get_health)
    return app


@asynccontextmanager
async def serving(app: web.Application, path: Path) -> AsyncIterator[None]:
    """Listen for the length of the block; only owner and group of the socket may connect."""
    path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    # The handler of a caller that disconnects is cancelled.
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=SHUTDOWN_TIMEOUT_SECONDS,
        max_field_size=MAX_HEADER_FIELD_BYTES,
    )
    await runner.setup()
    try:
        await web.UnixSite(runner, path).start()
        path.chmod(SOCKET_MODE)  # noqa: ASYNC240 - the call never blocks
        yield
    finally:
        await runner.cleanup()


class _InvokeRoute:
    """The route of invocations."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._executor = ThreadPoolExecutor(MAX_THREADS, "handler")

    async def post(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            invocation = parse_invocation(
                request.headers, request.headers.get("Content-Type", ""), body
            )
        except (KeyError, ValueError) as error:
            raise web.HTTPBadRequest(text=f"not a request of a worker: {error!r}") from error
        with logfmt.log_context(
            invocationID=invocation.id, run=invocation.run, attempt=invocation.attempt
        ):
            return await self._call_handler(invocation)

    async def _call_handler(self, invocation: Invocation) -> web.Response:
        try:
            response = to_response(await call_handler(self._handler, invocation, self._executor))
        except Exception as error:  # every error of a handler becomes the response
            log.exception("handler_failed")
            response = error_response(error)
        headers = {**response.headers, "Content-Type": response.content_type}
        return web.Response(body=response.body, status=response.status, headers=headers)


async def call_handler(handler: Handler, invocation: Invocation, executor: Executor) -> object:
    """Return the handler's result; a plain function runs in a thread, so health checks go on."""
    if inspect.iscoroutinefunction(handler):
        return await handler(invocation)
    value = await asyncio.get_running_loop().run_in_executor(executor, handler, invocation)
    return await value if inspect.isawaitable(value) else value


async def _get_health(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")
