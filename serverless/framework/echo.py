"""`python -m serverless.framework.echo`: responds with its payload, or as the attributes say.

The attributes are `sleepSeconds`, `fail` (a text), `failRetryably` (a text), `failAttempts` (fails
retryably up to that attempt), `exit` (a status: the process exits at once), `answerBytes` (the size
of the response) and `statusCode`.
"""

import asyncio
import os
from typing import NoReturn

from serverless.framework import Invocation, Response, Retryable, serve


class RequestedFailureError(Exception):
    """The caller requested a failure."""


async def echo(invocation: Invocation) -> Response:
    """Respond with the payload, or as the attributes say."""
    attributes = invocation.attributes
    await asyncio.sleep(float(attributes.get("sleepSeconds", 0)))
    if "exit" in attributes:
        exit_process(int(attributes["exit"]))
    if "fail" in attributes:
        raise RequestedFailureError(attributes["fail"])
    if "failRetryably" in attributes:
        raise Retryable(attributes["failRetryably"])
    if invocation.attempt <= int(attributes.get("failAttempts", 0)):
        raise Retryable(f"failAttempts is {attributes['failAttempts']}")
    body = b"x" * int(attributes["answerBytes"]) if "answerBytes" in attributes else invocation.body
    return Response(body, int(attributes.get("statusCode", 200)), invocation.content_type)


def exit_process(status: int) -> NoReturn:
    """Exit as a crash does, without a response."""
    os._exit(status)


if __name__ == "__main__":
    serve(echo)
