"""Failures of the cluster are told in words that help."""

import ssl

import aiohttp
import pytest

from apiserver.gateway import ClusterAnswerError, ClusterRefusedError
from apiserver.kube import failures

SERVER = "https://10.0.0.1:6443"


def test_a_connection_refused_says_where_and_what_to_check() -> None:
    error = failures.unreachable(SERVER, ConnectionRefusedError(111, "Connection refused"))
    assert str(error) == (
        "https://10.0.0.1:6443 cannot be reached: Connection refused. "
        "Check that the API server runs, and the address in kubeconfig."
    )


def a_certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (a_certificate_error(), "not trusted: self-signed certificate. Check the certificate auth"),
        (ConnectionResetError(104, "whatever"), "cannot be reached: Connection reset by peer. "),
        (OSError(None, "Name or service not known"), "reached: Name or service not known. Check"),
        (aiohttp.ServerDisconnectedError(), "cannot be reached: Server disconnected. Check that"),
        (aiohttp.ClientPayloadError(), "cannot be reached: ClientPayloadError. Check that"),
    ],
)
def test_a_broken_connection_is_told_by_its_innermost_reason(error: Exception, said: str) -> None:
    assert said in str(failures.unreachable(SERVER, error))


def test_a_forbidden_call_repeats_what_the_server_said() -> None:
    status = b'{"kind":"Status","message":"nodes is forbidden: User \\"api\\" cannot list"}'
    error = failures.refused(SERVER, "/api/v1/nodes", 403, status)
    assert isinstance(error, ClusterRefusedError)
    assert 'with 403: nodes is forbidden: User "api" cannot list. Check' in str(error)


def test_an_unknown_caller_is_told_to_check_the_credentials() -> None:
    error = failures.refused(SERVER, "/version", 401, b'{"message":"Unauthorized"}')
    assert isinstance(error, ClusterRefusedError)
    assert str(error).endswith("Check the token or certificate in kubeconfig.")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<html>\n<h1>502 Bad Gateway</h1>\n</html>", "<html> <h1>502 Bad Gateway</h1> </html>."),
        (b"", "no message."),
        (b"[]", "[]."),
        (b"\xff\xfe", "\ufffd\ufffd."),
    ],
)
def test_a_body_that_is_no_status_is_shown_as_text(body: bytes, shown: str) -> None:
    error = failures.refused(SERVER, "/version", 502, body)
    assert isinstance(error, ClusterAnswerError)
    assert f"with 502: {shown}" in str(error)


def test_a_huge_body_is_cut() -> None:
    assert len(str(failures.refused(SERVER, "/version", 500, b"x" * 100_000))) < 500
