"""Errors of requests to Kubernetes that got no usable response, with advice for an operator."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from apiserver.kube import errors as kube_errors
from apiserver.kube.request import KubeRequest


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
