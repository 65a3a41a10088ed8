"""Tests of the metrics' TLS files: unusable files are rejected at startup."""

from pathlib import Path

import pytest

from shared.config.address import Address
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import MetricsTLSConfig, metrics_ssl_context

PROBES, METRICS = Address("127.0.0.1", 1), Address("127.0.0.1", 2)


def test_metrics_are_plain_http_without_certificate_files() -> None:
    assert metrics_ssl_context(MetricsTLSConfig(), PROBES, PROBES) is None


@pytest.mark.parametrize(
    "config", [MetricsTLSConfig(cert_file="c"), MetricsTLSConfig(key_file="k")]
)
def test_a_certificate_without_a_key_is_refused(config: MetricsTLSConfig) -> None:
    with pytest.raises(ConfigurationError, match="metricsTLS: set both"):
        metrics_ssl_context(config, PROBES, METRICS)


def test_metrics_with_tls_need_another_address_than_the_probes() -> None:
    config = MetricsTLSConfig(cert_file="c", key_file="k")
    with pytest.raises(ConfigurationError, match="must differ from probeAddr"):
        metrics_ssl_context(config, PROBES, PROBES)


def test_files_without_a_certificate_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no certificate")
    config = MetricsTLSConfig(cert_file=str(file), key_file=str(file))
    with pytest.raises(ConfigurationError, match="metricsTLS: the files cannot be loaded: "):
        metrics_ssl_context(config, PROBES, METRICS)
