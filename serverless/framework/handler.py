"""Calling a handler, whether it is asynchronous or plain."""

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Executor

from serverless.framework.invocation import Invocation

Handler = Callable[[Invocation], object]


async def call_handler(handler: Handler, invocation: Invocation, executor: Executor) -> object:
    """What the handler gives; a plain one works in a thread, so that health goes on answering."""
    if inspect.iscoroutinefunction(handler):
        return await handler(invocation)
    value = await asyncio.get_running_loop().run_in_executor(executor, handler, invocation)
    return await value if inspect.isawaitable(value) else value
