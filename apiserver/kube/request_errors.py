"""Errors of requests to Kubernetes: from their error responses, or for the lack of a response."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.decoding import DECODE_ERRORS
from apiserver.kube.request import KubeRequest, KubeResponse

_QUOTA_MARKER: Final = "exceeded quota"
_MAX_MESSAGE_LENGTH: Final = 2000


class _StatusCause(msgspec.Struct):
    field: str = ""


class _StatusDetails(msgspec.Struct):
    causes: tuple[_StatusCause, ...] | None = None


class Status(msgspec.Struct):
    """The Status object in the body of an error response."""

    message: str = ""
    reason: str = ""
    details: _StatusDetails | None = None

    @property
    def invalid_fields(self) -> tuple[str, ...]:
        """Return the paths of the invalid fields, each once, without their values."""
        causes = (self.details.causes if self.details else None) or ()
        return tuple(dict.fromkeys(cause.field for cause in causes if cause.field))


_ERROR_AND_ADVICE: Final[dict[int, tuple[type[kube_errors.KubeError], str]]] = {
    401: (kube_errors.ForbiddenError, " Check the token or certificate in kubeconfig."),
    403: (kube_errors.ForbiddenError, " Check that manifests/rbac is applied."),
    409: (kube_errors.ConflictError, ""),
    410: (kube_errors.ExpiredError, ""),
}


def error_from_response(
    server: str, request: KubeRequest, response: KubeResponse
) -> kube_errors.KubeError:
    """Return the KubeError for an error response."""
    status = decode_status(response.body)
    message = kube_errors.shorten(status.message)
    text = f"{server} answered {request} with {response.status}: {message}."
    match response.status:
        case 422 if request.method == "PATCH" and "metadata.uid" in status.invalid_fields:
            return kube_errors.ConflictError(text)  # another object has this name now
        case 400 | 413 | 422:
            return invalid_error(server, request, response.status, status)
        case 403 | 404 | 409:
            return error_by_reason(text, request, response.status, status)
        case 429:
            return kube_errors.ThrottledError(text, response.retry_after)
        case code if code >= 500:
            return kube_errors.ServerError(f"{text} Check the log of the API server.")
        case _:
            return error_by_code(text, response.status)


def invalid_error(
    server: str, request: KubeRequest, status_code: int, status: Status
) -> kube_errors.InvalidError:
    """Return the error whose text names invalid fields only: the message can repeat secrets."""
    fields = kube_errors.shorten(", ".join(status.invalid_fields))
    problem = " ".join(part for part in (status.reason, fields) if part)
    text = f"{server} answered {request} with {status_code}: {problem or 'no reason'}."
    return kube_errors.InvalidError(text, status.message[:_MAX_MESSAGE_LENGTH])


def error_by_reason(
    text: str, request: KubeRequest, status_code: int, status: Status
) -> kube_errors.KubeError:
    """Return the error for a code that can concern one object or the whole API."""
    match status_code:
        case 403 if _QUOTA_MARKER in status.message:
            return kube_errors.QuotaExceededError(
                text, status.message[status.message.index(_QUOTA_MARKER) :]
            )
        case 404 if status.reason == "NotFound" and request.method != "POST":
            return kube_errors.NotFoundError(text)
        case 404:  # for a create: the namespace; without a reason: the kind
            return kube_errors.UnexpectedResponseError(f"{text} Check that manifests are applied.")
        case 409 if status.reason == "AlreadyExists":
            return kube_errors.AlreadyExistsError(text)
        case 409 if request.method == "POST":  # for a create: a quota that other creates use up
            return kube_errors.ThrottledError(text)
        case _:
            return error_by_code(text, status_code)


def error_by_code(text: str, status_code: int) -> kube_errors.KubeError:
    """Return the error for a status code alone."""
    default = (
        kube_errors.UnexpectedResponseError,
        " Check that the address in kubeconfig is an API server.",
    )
    kind, advice = _ERROR_AND_ADVICE.get(status_code, default)
    return kind(text + advice)


def decode_status(body: bytes) -> Status:
    """Return the Status in a body; any other body becomes the message of a Status."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except DECODE_ERRORS:
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    return status if status.message else msgspec.structs.replace(status, message="no message")


@asynccontextmanager
async def translate_transport_errors(server: str, timeout_seconds: float) -> AsyncIterator[None]:
    """Limit the time of the block; raise timeouts and connection failures as KubeErrors."""
    try:
        async with asyncio.timeout(timeout_seconds):
            yield
    except TimeoutError:
        raise timeout_error(server, timeout_seconds) from None
    except (aiohttp.ClientError, OSError) as error:
        raise unreachable_error(server, error) from error


def timeout_error(server: str, timeout_seconds: float) -> kube_errors.RequestTimeoutError:
    """Return the error for a response that did not arrive completely in time."""
    return kube_errors.RequestTimeoutError(
        f"{server} did not respond within {timeout_seconds:g} s. "
        "Check the load of the API server, and the network."
    )


def unreachable_error(server: str, error: Exception) -> kube_errors.UnreachableError:
    """Return the error for a connection that failed, with the setting to check."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        problem, check = (
            "has a certificate that is not trusted",
            "the certificate authority in kubeconfig",
        )
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        problem, check = (
            "has a name that does not resolve",
            "the server address in kubeconfig, and DNS",
        )
    else:
        problem = "cannot be reached"
        check = "that the API server runs, and the address in kubeconfig"
    return kube_errors.UnreachableError(
        f"{server} {problem}: {kube_errors.shorten(_innermost_reason(error))}. Check {check}."
    )


def unreadable_response_error(
    server: str, request: KubeRequest, error: Exception
) -> kube_errors.UnexpectedResponseError:
    """Return the error for a success response whose body is not the requested object."""
    reason = kube_errors.shorten(str(error))
    return kube_errors.UnexpectedResponseError(
        f"{server} answered {request} with a body that is not a Kubernetes object "
        f"({reason}). Check that the address in kubeconfig is an API server."
    )


def _innermost_reason(error: Exception) -> str:
    """Return the cause without the address, which aiohttp adds and the message has already."""
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    match cause:
        case ssl.SSLCertVerificationError():
            return cause.verify_message
        case ssl.SSLError(reason=str(reason)):
            return reason
        case OSError(errno=int(number)) if number > 0:
            return os.strerror(number)
        case OSError(strerror=str(text)):
            return text
        case aiohttp.ClientResponseError():  # a proxy error; its text contains the proxy's password
            return f"{cause.status} {cause.message}"
        case _:
            return str(error) or type(error).__name__
