"""Metrics over TLS, on a real socket, with certificates that are renewed."""

import ssl
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge

from controller.runtime.process.probes import ProbeServer
from hack.cluster.certificates import (
    CertificateAuthority,
    CertificateRequest,
    certificate_authority,
)
from shared.config.address import Address
from shared.config.metrics_tls import MetricsTLSConfig, metrics_ssl_context
from tests.support.wait.eventually import eventually

HOST = "127.0.0.1"
SERVER_CERTIFICATE = CertificateRequest("server", "metrics", addresses=(HOST,))


async def metrics(url: str, trusted: CertificateAuthority) -> str:
    """Return the metrics over a new connection that trusts only one authority."""
    context = ssl.create_default_context(cafile=str(trusted.certificate_path))
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/metrics", ssl=context) as response,
    ):
        return await response.text()


async def test_metrics_are_served_with_the_renewed_certificate(
    tmp_path: Path, unused_tcp_port_factory: Callable[[], int]
) -> None:
    first, second = (
        certificate_authority(tmp_path / "first"),
        certificate_authority(tmp_path / "second"),
    )
    certificate, key = first.issue(SERVER_CERTIFICATE)
    probes, metrics_port = Address(HOST, unused_tcp_port_factory()), unused_tcp_port_factory()
    config = MetricsTLSConfig(cert_file=str(certificate), key_file=str(key))
    tls = metrics_ssl_context(config, probes, Address(HOST, metrics_port))
    registry = CollectorRegistry()
    Gauge("answer", "An example.", registry=registry).set(42)
    url = f"https://{HOST}:{metrics_port}"
    async with ProbeServer(registry, lambda: ()).serve(
        (HOST, probes.port), (HOST, metrics_port), tls
    ):
        assert "answer 42.0" in await metrics(url, first)
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await metrics(url, second)

        new_certificate, new_key = second.issue(SERVER_CERTIFICATE)
        certificate.write_bytes(new_certificate.read_bytes())
        key.write_bytes(new_key.read_bytes())
        renewed = await eventually(lambda: metrics(url, second), tolerate=aiohttp.ClientError)

    assert "answer 42.0" in renewed
