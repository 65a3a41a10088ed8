"""What went wrong with a call to Kubernetes, in words for whoever must mend it."""

import os
import ssl
from typing import Final

import aiohttp
import msgspec

from apiserver.gateway import (
    ClusterAnswerError,
    ClusterError,
    ClusterRefusedError,
    ClusterTimeoutError,
    ClusterUnreachableError,
)

_LONGEST: Final = 300


class _Status(msgspec.Struct):
    message: str = ""


def timed_out(server: str, seconds: float) -> ClusterTimeoutError:
    """The server said nothing, or not all of it, in time."""
    return ClusterTimeoutError(
        f"{server} did not answer within {seconds:g} s. "
        "Check the load of the API server and the network between."
    )


def unreachable(server: str, error: Exception) -> ClusterUnreachableError:
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
    return ClusterUnreachableError(f"{server} {what}: {_cut(_reason(error))}. Check {check}.")


def refused(server: str, path: str, status: int, body: bytes) -> ClusterError:
    """The server answered, and not with what was asked for."""
    said = f"{server} answered GET {path} with {status}: {_cut(_message(body))}"
    match status:
        case 401:
            return ClusterRefusedError(f"{said}. Check the token or certificate in kubeconfig.")
        case 403:
            return ClusterRefusedError(f"{said}. Check that manifests/rbac is applied.")
        case _:
            return ClusterAnswerError(f"{said}. Check the log of the API server.")


def unreadable(server: str, path: str, error: Exception) -> ClusterAnswerError:
    """The server answered with something that is not the object asked for."""
    return ClusterAnswerError(
        f"{server} answered GET {path} with something else than Kubernetes objects "
        f"({_cut(str(error))}). Check that the address in kubeconfig is an API server."
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
        case _:
            return str(error) or type(error).__name__


def _message(body: bytes) -> str:
    """The message of a Kubernetes Status, or the text that a proxy sent in its place."""
    try:
        return msgspec.json.decode(body, type=_Status).message or "no message"
    except msgspec.DecodeError:
        return " ".join(body.decode(errors="replace").split()) or "no message"


def _cut(text: str) -> str:
    return text.rstrip(".") if len(text) <= _LONGEST else text[:_LONGEST] + "..."
