"""The route of the body of a result."""

import logging
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys
from apiserver.http.deadline import DEADLINE
from apiserver.http.openapi import ResponseDoc, documented
from apiserver.http.query import require_no_query
from apiserver.invocations.fields import is_content_type
from apiserver.invocations.handlers import (
    FUNCTION_PARAMETER,
    INVOCATION_PARAMETER,
    INVOCATIONS,
    path_function_and_invocation,
)
from apiserver.invocations.schemas import BINARY_CONTENT_TYPE
from apiserver.nats.errors import QueueError

MAX_STREAM_SECONDS: Final = 300.0
# The result of a function is untrusted: a browser must not show it as a page of this API.
SANDBOX_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    hdrs.CONTENT_DISPOSITION: "attachment",
    "Content-Security-Policy": "sandbox",
}

log = logging.getLogger(__name__)


@documented(
    "invocations",
    "Stream the body of a result, unchanged and of any size",
    ResponseDoc(200, "The body.", example="hello", media_type=BINARY_CONTENT_TYPE),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    path=(FUNCTION_PARAMETER, INVOCATION_PARAMETER),
)
async def get_result_body(request: web.Request) -> web.StreamResponse:
    """Stream the body of a result."""
    service, ids = (
        keys.required_service(request, INVOCATIONS),
        path_function_and_invocation(request),
    )
    require_no_query(request)
    body = await service.get_body(*ids)
    first = await anext(body.chunks, b"")  # an error before it can still be an error response
    media_type = body.content_type if is_content_type(body.content_type) else BINARY_CONTENT_TYPE
    response = web.StreamResponse(headers={**SANDBOX_HEADERS, hdrs.CONTENT_TYPE: media_type})
    response.content_length = body.size
    request[DEADLINE].restart(MAX_STREAM_SECONDS)
    await response.prepare(request)
    await response.write(first)
    await _stream_chunks(request, response, body.chunks)
    return response


async def _stream_chunks(
    request: web.Request, response: web.StreamResponse, chunks: AsyncIterator[bytes]
) -> None:
    """Write the chunks; close the connection after a queue error, as the body is incomplete."""
    try:
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    except QueueError as error:
        log.warning("body_broke_off", extra={"queueError": str(error)})
        response.force_close()
        request.protocol.force_close()
    except ConnectionError:
        return  # the caller has disconnected
