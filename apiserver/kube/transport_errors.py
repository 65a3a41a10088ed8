"""What went wrong with a call to Kubernetes, in words for whoever must mend it."""

import os
import ssl

import aiohttp

from apiserver.kube import errors as kube_errors
from apiserver.kube.request import Call
from apiserver.kube.wording import cut


def timed_out(server: str, seconds: float) -> kube_errors.ClusterTimeoutError:
    """The server said nothing, or not all of it, in time."""
    return kube_errors.ClusterTimeoutError(
        f"{server} did not answer within {seconds:g} s. "
        "Check the load of the API server and the network between."
    )


def unreachable(server: str, error: Exception) -> kube_errors.ClusterUnreachableError:
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
    return kube_errors.ClusterUnreachableError(
        f"{server} {what}: {cut(_reason(error))}. Check {check}."
    )


def unreadable(server: str, call: Call, error: Exception) -> kube_errors.ClusterUnfitError:
    """The server answered with something that is not the object asked for."""
    return kube_errors.ClusterUnfitError(
        f"{server} answered {call} with something else than Kubernetes objects "
        f"({cut(str(error))}). Check that the address in kubeconfig is an API server."
    )


def _reason(error: Exception) -> str:
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
