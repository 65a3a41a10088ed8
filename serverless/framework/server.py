"""A handler served on the unix socket until somebody says to stop."""

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
# The pod's grace period ends before this; a handler may use all of it.
SHUTDOWN_TIMEOUT_SECONDS: Final = 3600.0
# Attributes come as ASCII, in which a character takes three times its bytes, and with blanks.
MAX_HEADER_FIELD_BYTES: Final = 4 * MAX_ATTRIBUTE_BYTES

Handler = Callable[[Invocation], object]

log = logging.getLogger(__name__)


def serve(handler: Handler) -> None:
    """Answer invocations with `handler` until SIGTERM or SIGINT; what has begun is finished."""
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
    """The routes of a framework whose handler this is."""
    app = web.Application(client_max_size=MAX_PAYLOAD_BYTES)
    invoke_path = environment.get("GPU_RUNTIME_INVOKE_PATH") or framework_protocol.INVOKE_PATH
    health_path = environment.get("GPU_RUNTIME_HEALTH_PATH") or framework_protocol.HEALTH_PATH
    app.router.add_post(invoke_path, _InvokeRoute(handler).post)
    app.router.add_get(health_path, _get_health)
    return app


@asynccontextmanager
async def serving(app: web.Application, path: Path) -> AsyncIterator[None]:
    """Listen for the length of the block; only the owner and the group may connect."""
    path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    # A caller that hangs up has no use for the answer: its handler is cancelled.
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
        path.chmod(SOCKET_MODE)  # noqa: ASYNC240 - a call that never waits
        yield
    finally:
        await runner.cleanup()


class _InvokeRoute:
    """The route that takes an invocation."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._executor = ThreadPoolExecutor(MAX_THREADS, "handler")

    async def post(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            given = parse_invocation(request.headers, request.headers.get("Content-Type", ""), body)
        except (KeyError, ValueError) as error:
            raise web.HTTPBadRequest(text=f"not from a worker: {error!r}") from error
        with logfmt.log_context(invocationID=given.id, run=given.run, attempt=given.attempt):
            return await self._call_handler(given)

    async def _call_handler(self, invocation: Invocation) -> web.Response:
        try:
            said = to_response(await call_handler(self._handler, invocation, self._executor))
        except Exception as error:  # a handler may raise anything: it is the answer
            log.exception("handler_failed")
            said = error_response(error)
        headers = {**said.headers, "Content-Type": said.content_type}
        return web.Response(body=said.body, status=said.status, headers=headers)


async def call_handler(handler: Handler, invocation: Invocation, executor: Executor) -> object:
    """What the handler gives; a plain one works in a thread, so that health goes on answering."""
    if inspect.iscoroutinefunction(handler):
        return await handler(invocation)
    value = await asyncio.get_running_loop().run_in_executor(executor, handler, invocation)
    return await value if inspect.isawaitable(value) else value


async def _get_health(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")
