"""How answers look: `{"data": ...}` or `{"error": {...}}`, and nothing else."""

import logging
from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, LooseHeaders

from apiserver.error_mapping import queue_failure, service_error
from apiserver.errors import (
    InternalError,
    InvalidRequestError,
    MethodNotAllowedError,
    NotFoundError,
    ServiceError,
    TooLargeError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError

_MESSAGES: Final[Mapping[type[ServiceError], str]] = {
    NotFoundError: "there is nothing at this path",
    MethodNotAllowedError: "this path takes other methods only; the Allow header has them",
    TooLargeError: "the request body is too large",
    UnsupportedMediaTypeError: "the request body must be application/json",
}
_BY_STATUS: Final = {kind.status: kind for kind in _MESSAGES}

log = logging.getLogger(__name__)


def success(
    data: object, *, status: int = 200, headers: LooseHeaders | None = None
) -> web.Response:
    """Answer with `data`."""
    return _json({"data": data}, status, headers)


def page(data: object, meta: object) -> web.Response:
    """Answer with a part of a list and what there is to know of the rest."""
    return _json({"data": data, "meta": meta})


def _json(value: object, status: int = 200, headers: LooseHeaders | None = None) -> web.Response:
    """aiohttp would encode with `json`, which takes three times as long."""
    body = msgspec.json.encode(value)
    return web.Response(
        body=body, status=status, headers=headers, content_type="application/json", charset="utf-8"
    )


def nothing() -> web.Response:
    """Answer that it is done and there is no more to say."""
    return web.Response(status=204)


def failure(error: ServiceError) -> web.Response:
    """Answer with what went wrong."""
    response = web.json_response({"error": error.as_json()}, status=error.status)
    if error.retry_after is not None:
        response.headers[hdrs.RETRY_AFTER] = str(error.retry_after)
    if isinstance(error, UnauthorizedError):
        response.headers[hdrs.WWW_AUTHENTICATE] = error.challenge
    return response


def http_failure(error: web.HTTPException) -> web.Response:
    """Put a failure that aiohttp raised into the envelope."""
    response = failure(_service_error(error))
    if hdrs.ALLOW in error.headers:
        response.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
    return response


def _service_error(error: web.HTTPException) -> ServiceError:
    if error.status >= 500:
        return InternalError()
    kind = _BY_STATUS.get(error.status, InvalidRequestError)
    return kind(_MESSAGES.get(kind, error.reason))


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn whatever a handler raises into the envelope."""
    try:
        return await handler(request)
    except ServiceError as error:
        response = failure(error)
        if error.ends_connection:
            await _end_connection(request, response)
        return response
    except kube_errors.ClusterError as error:
        told = service_error(error)
        if told.status >= 500:  # what callers get wrong must not fill the log with warnings
            log.warning("cluster_call_failed", extra={"kubeError": str(error)})
        return failure(told)
    except QueueError as error:
        log.warning("queue_call_failed", extra={"queueError": str(error)})
        return failure(queue_failure(error))
    except web.HTTPException as error:
        return http_failure(error)
    except Exception:  # the last line of defence: the trace goes to the log, never to the caller
        log.exception("request_failed")
        return failure(InternalError())


async def _end_connection(request: web.Request, response: web.Response) -> None:
    """Answer and hang up; aiohttp would go on listening to the body for a while."""
    response.force_close()
    await response.prepare(request)
    await response.write_eof()
    request.protocol.force_close()
