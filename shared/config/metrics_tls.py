"""Metrics over TLS, where a certificate is named."""

import ssl
from contextlib import suppress
from typing import Annotated

import msgspec
from msgspec import Meta

from shared.config.address import Address
from shared.config.loader import ConfigurationError


class MetricsTLSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The certificate that /metrics is served with."""

    cert_file: Annotated[
        str,
        Meta(description="File of the certificate and its chain; empty: /metrics is plain HTTP."),
    ] = ""
    key_file: Annotated[
        str, Meta(description="File of its private key; both are read again while we serve.")
    ] = ""


def metrics_ssl_context(
    config: MetricsTLSConfig, probe_address: Address, metrics_address: Address
) -> ssl.SSLContext | None:
    """How /metrics is served; ConfigurationError where the files cannot be used so."""
    if not config.cert_file and not config.key_file:
        return None
    if not config.cert_file or not config.key_file:
        raise ConfigurationError("metricsTLS: give both certFile and keyFile, or neither")
    if probe_address == metrics_address:
        raise ConfigurationError(
            "metricsTLS: metricsAddr must be another address than probeAddr, which is plain HTTP"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        load_certificate(context, config)
    except OSError as error:
        raise ConfigurationError(f"metricsTLS: cannot be used: {error}") from error

    def renew(*_: object) -> None:
        with suppress(OSError):  # the files are being replaced; the next connection tries again
            load_certificate(context, config)

    context.sni_callback = renew
    return context


def load_certificate(context: ssl.SSLContext, config: MetricsTLSConfig) -> None:
    """Read the files; a key that needs a password is refused, not asked for."""
    context.load_cert_chain(config.cert_file, config.key_file, password=lambda: "")
