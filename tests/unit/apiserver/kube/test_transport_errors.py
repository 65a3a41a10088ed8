"""Tests of connection failures: the messages say what to check."""

import ssl

import aiohttp
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from apiserver.kube import decoding, request_errors
from apiserver.kube import errors as kube_errors
from apiserver.kube.decoding import DECODE_ERRORS
from apiserver.kube.request import KubeRequest
from apiserver.kube.resources import GPU_UNITS

SERVER = "https://10.0.0.1:6443"


def test_a_refused_connection_names_the_server_and_what_to_check() -> None:
    error = request_errors.unreachable_error(
        SERVER, ConnectionRefusedError(111, "Connection refused")
    )
    assert str(error) == (
        "https://10.0.0.1:6443 cannot be reached: Connection refused. "
        "Check that the API server runs, and the address in kubeconfig."
    )


def new_certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            new_certificate_error(),
            "not trusted: self-signed certificate. Check the certificate auth",
        ),
        (ConnectionResetError(104, "any text"), "cannot be reached: Connection reset by peer. "),
        (OSError(None, "Name or service not known"), "reached: Name or service not known. Check"),
        (aiohttp.ServerDisconnectedError(), "cannot be reached: Server disconnected. Check that"),
        (aiohttp.ClientPayloadError(), "cannot be reached: ClientPayloadError. Check that"),
    ],
)
def test_a_broken_connection_is_described_by_its_innermost_cause(
    error: Exception, message: str
) -> None:
    assert message in str(request_errors.unreachable_error(SERVER, error))


def test_the_password_of_a_proxy_is_not_in_the_message() -> None:
    url = URL("http://user:hunter2@proxy:3128")
    request = aiohttp.RequestInfo(url, "GET", CIMultiDictProxy(CIMultiDict()), url)
    error = aiohttp.ClientHttpProxyError(
        request, (), status=407, message="Proxy Authentication Required"
    )
    message = str(request_errors.unreachable_error(SERVER, error))
    assert "cannot be reached: 407 Proxy Authentication Required. Check" in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"metadata": 1}', b'"\xff"', b'{"metadata":{},"spec":' + b"[" * 9999]
)
def test_a_response_that_is_not_an_object_is_unexpected(body: bytes) -> None:
    with pytest.raises(DECODE_ERRORS) as caught:
        decoding.decode_object(GPU_UNITS, body)
    error = request_errors.unreadable_response_error(
        SERVER, KubeRequest("PATCH", "/apis/x"), caught.value
    )
    assert isinstance(error, kube_errors.UnexpectedResponseError)
    assert "answered PATCH /apis/x with a body that is not a Kubernetes object" in str(error)
