"""JSON responses: `{"data": ...}` for a success and `{"error": {...}}` for a failure."""

import logging
from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, LooseHeaders

from apiserver.error_mapping import service_error_from_kube, service_error_from_queue
from apiserver.errors import (
    BodyTooLargeError,
    InternalError,
    InvalidRequestError,
    MethodNotAllowedError,
    NotFoundError,
    ServiceError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError

_MESSAGE_BY_ERROR: Final[Mapping[type[ServiceError], str]] = {
    NotFoundError: "no such path",
    MethodNotAllowedError: "the path does not support this method; see the Allow header",
    BodyTooLargeError: "the request body is too large",
    UnsupportedMediaTypeError: "the request body must be application/json",
}
_ERROR_BY_STATUS: Final = {kind.status: kind for kind in _MESSAGE_BY_ERROR}

log = logging.getLogger(__name__)


def success(
    data: object, *, status: int = 200, headers: LooseHeaders | None = None
) -> web.Response:
    """Return a response with `data`."""
    return _json_response({"data": data}, status, headers)


def page(data: object, meta: object) -> web.Response:
    """Return a response with one page of a list and its metadata."""
    return _json_response({"data": data, "meta": meta})


def _json_response(
    value: object, status: int = 200, headers: LooseHeaders | None = None
) -> web.Response:
    """Encode with msgspec, which takes a third of the time of aiohttp's json."""
    body = msgspec.json.encode(value)
    return web.Response(
        body=body, status=status, headers=headers, content_type="application/json", charset="utf-8"
    )


def no_content() -> web.Response:
    """Return an empty 204 response."""
    return web.Response(status=204)


def failure(error: ServiceError) -> web.Response:
    """Return the response for an error."""
    response = web.json_response({"error": error.as_json()}, status=error.status)
    if error.retry_after is not None:
        response.headers[hdrs.RETRY_AFTER] = str(error.retry_after)
    if isinstance(error, UnauthorizedError):
        response.headers[hdrs.WWW_AUTHENTICATE] = error.challenge
    return response


def http_exception_failure(error: web.HTTPException) -> web.Response:
    """Return the JSON response for an HTTP exception of aiohttp."""
    response = failure(_service_error(error))
    if hdrs.ALLOW in error.headers:
        response.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
    return response


def _service_error(error: web.HTTPException) -> ServiceError:
    if error.status >= 500:
        return InternalError()
    kind = _ERROR_BY_STATUS.get(error.status, InvalidRequestError)
    return kind(_MESSAGE_BY_ERROR.get(kind, error.reason))


@web.middleware
async def error_responses_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every exception of a handler into a JSON error response."""
    try:
        return await handler(request)
    except ServiceError as error:
        response = failure(error)
        if error.closes_connection:
            await _close_connection(request, response)
        return response
    except kube_errors.KubeError as error:
        service_error = service_error_from_kube(error)
        if service_error.status >= 500:  # mistakes of callers must not fill the log
            log.warning("cluster_call_failed", extra={"kubeError": str(error)})
        return failure(service_error)
    except QueueError as error:
        log.warning("queue_call_failed", extra={"queueError": str(error)})
        return failure(service_error_from_queue(error))
    except web.HTTPException as error:
        return http_exception_failure(error)
    except Exception:  # the traceback goes to the log, never to the caller
        log.exception("request_failed")
        return failure(InternalError())


async def _close_connection(request: web.Request, response: web.Response) -> None:
    """Send the response and close the connection.

    Otherwise aiohttp would continue to read the body.
    """
    response.force_close()
    await response.prepare(request)
    await response.write_eof()
    request.protocol.force_close()
