"""GET the body of a result."""

import logging
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys
from apiserver.http.deadline import DEADLINE
from apiserver.http.openapi import Answer, documented
from apiserver.http.query import require_known
from apiserver.invocations.fields import is_content_type
from apiserver.invocations.invocation_path import INVOCATION_ID, REQUEST_ID, path_ids
from apiserver.invocations.schemas import BINARY
from apiserver.nats.errors import QueueError

STREAM_SECONDS: Final = 300.0
# What a function answers is of a stranger: no browser may take it for a page of ours.
HARMLESS: Final = {
    "X-Content-Type-Options": "nosniff",
    hdrs.CONTENT_DISPOSITION: "attachment",
    "Content-Security-Policy": "sandbox",
}

log = logging.getLogger(__name__)


@documented(
    "invocations",
    "The body of a result as the function gave it, however large",
    Answer(200, "The body.", example="hello", media_type=BINARY),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
    path=(REQUEST_ID, INVOCATION_ID),
)
async def body(request: web.Request) -> web.StreamResponse:
    """Stream the body of a result."""
    service, ids = keys.service(request, keys.INVOCATIONS), path_ids(request)
    require_known(request)
    found = await service.body(*ids)
    first = await anext(found.chunks, b"")  # what fails before it can still be told
    kind = found.content_type if is_content_type(found.content_type) else BINARY
    response = web.StreamResponse(headers={**HARMLESS, hdrs.CONTENT_TYPE: kind})
    response.content_length = found.size
    request[DEADLINE].allow(STREAM_SECONDS)
    await response.prepare(request)
    await response.write(first)
    await _stream(request, response, found.chunks)
    return response


async def _stream(
    request: web.Request, response: web.StreamResponse, chunks: AsyncIterator[bytes]
) -> None:
    """The rest; a body that breaks off is cut off, so that nobody takes it for whole."""
    try:
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    except QueueError as error:
        log.warning("body_broke_off", extra={"queueError": str(error)})
        response.force_close()
        request.protocol.force_close()
    except ConnectionError:
        return  # the caller has gone
