"""TLS for the metrics endpoint, if a certificate is configured."""

import ssl
from contextlib import suppress
from typing import Annotated

import msgspec
from msgspec import Meta

from shared.config.address import Address
from shared.config.loader import ConfigurationError


class MetricsTLSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The certificate and the key for /metrics."""

    cert_file: Annotated[
        str,
        Meta(description="The file of the certificate chain; empty: /metrics is plain HTTP."),
    ] = ""
    key_file: Annotated[
        str,
        Meta(
            description="The file of the private key; both files are reread while the process runs."
        ),
    ] = ""


def metrics_ssl_context(
    config: MetricsTLSConfig, probe_address: Address, metrics_address: Address
) -> ssl.SSLContext | None:
    """Return the TLS context of /metrics; raise ConfigurationError if the files cannot be used."""
    if not config.cert_file and not config.key_file:
        return None
    if not config.cert_file or not config.key_file:
        raise ConfigurationError("metricsTLS: set both certFile and keyFile, or neither")
    if probe_address == metrics_address:
        raise ConfigurationError(
            "metricsTLS: metricsAddr must differ from probeAddr, which is plain HTTP"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        load_certificate(context, config)
    except OSError as error:
        raise ConfigurationError(f"metricsTLS: the files cannot be loaded: {error}") from error

    def renew(*_: object) -> None:
        with suppress(OSError):  # the files are being replaced; the next connection retries
            load_certificate(context, config)

    context.sni_callback = renew
    return context


def load_certificate(context: ssl.SSLContext, config: MetricsTLSConfig) -> None:
    """Load the files; a key with a password is an error, because no password is prompted for."""
    context.load_cert_chain(config.cert_file, config.key_file, password=lambda: "")
