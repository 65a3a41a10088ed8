"""What went wrong with a call to Kubernetes, in words for whoever must mend it."""

import os
import ssl

import aiohttp

from apiserver.kube import errors as kube_errors
from apiserver.kube.request import KubeRequest
from apiserver.kube.wording import shorten


def timeout_error(server: str, timeout_seconds: float) -> kube_errors.RequestTimeoutError:
    """The server said nothing, or not all of it, in time."""
    return kube_errors.RequestTimeoutError(
        f"{server} did not answer within {timeout_seconds:g} s. "
        "Check the load of the API server and the network between."
    )


def unreachable_error(server: str, error: Exception) -> kube_errors.UnreachableError:
    """There is no connection to ask over."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        what, check = (
            "has a certificate that is not trusted",
            "the certificate authority in kubeconfig",
        )
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        what, check = (
            "has a name that does not resolve",
            "the server address in kubeconfig, and DNS",
        )
    else:
        what, check = "cannot be reached", "that the API server runs, and the address in kubeconfig"
    return kube_errors.UnreachableError(
        f"{server} {what}: {shorten(_innermost_reason(error))}. Check {check}."
    )


def unreadable_response_error(
    server: str, request: KubeRequest, error: Exception
) -> kube_errors.UnexpectedResponseError:
    """The server answered with something that is not the object asked for."""
    return kube_errors.UnexpectedResponseError(
        f"{server} answered {request} with something else than Kubernetes objects "
        f"({shorten(str(error))}). Check that the address in kubeconfig is an API server."
    )


def _innermost_reason(error: Exception) -> str:
    """The innermost reason: aiohttp wraps it in the address, which is known already."""
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
        case aiohttp.ClientResponseError():  # of a proxy; its text has the proxy's password
            return f"{cause.status} {cause.message}"
        case _:
            return str(error) or type(error).__name__
