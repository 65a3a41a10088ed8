"""`python -m serverless.framework.echo`: answers with what it was given, or as it is told.

Attributes that it understands: `sleepSeconds`, `fail` (a text), `failRetryably` (a text),
`failAttempts` (fails retryably up to that attempt), `exit` (a status: the process ends at once),
`answerBytes` (that many), `statusCode`.
"""

import asyncio
import os
from typing import NoReturn

from serverless.framework import Invocation, Response, Retryable, serve


class ToldToFailError(Exception):
    """The caller asked for a failure."""


async def echo(invocation: Invocation) -> Response:
    """What came in, after what the attributes ask for."""
    told = invocation.attributes
    await asyncio.sleep(float(told.get("sleepSeconds", 0)))
    if "exit" in told:
        exit_process(int(told["exit"]))
    if "fail" in told:
        raise ToldToFailError(told["fail"])
    if "failRetryably" in told:
        raise Retryable(told["failRetryably"])
    if invocation.attempt <= int(told.get("failAttempts", 0)):
        raise Retryable(f"told to fail {told['failAttempts']} attempts")
    body = b"x" * int(told["answerBytes"]) if "answerBytes" in told else invocation.body
    return Response(body, int(told.get("statusCode", 200)), invocation.content_type)


def exit_process(status: int) -> NoReturn:
    """End as a crash does: nothing is finished, nobody is told."""
    os._exit(status)


if __name__ == "__main__":
    serve(echo)
