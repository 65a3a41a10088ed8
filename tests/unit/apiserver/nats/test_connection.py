"""Tests of the descriptions of connection failures: they contain no secrets."""

from pathlib import Path

import pytest

from apiserver.config import NATSConfig
from apiserver.nats.connection import (
    QueueConnection,
    describe_error,
    redact_url,
    require_readable_password,
)
from shared.config.loader import ConfigurationError
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock


async def test_the_status_of_a_new_connection_is_not_connected_yet() -> None:
    status = QueueConnection(NATSConfig(url="nats://u:secret@q:4222"), AutoAdvanceClock()).status
    assert not status.connected
    assert (status.error or "").startswith("nats://q:4222: not connected yet. Check that NATS runs")


@pytest.mark.parametrize(
    ("url", "shown"),
    [("nats://q:4222", "nats://q:4222"), ("tls://user:p%40ss@q:4222", "tls://q:4222")],
)
def test_credentials_in_the_url_are_not_shown(url: str, shown: str) -> None:
    assert redact_url(url) == shown


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), "Connection refused"),
        (TimeoutError(), "no response in time"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_nats_error_has_a_readable_reason(error: Exception, reason: str) -> None:
    assert describe_error(error) == reason


def test_an_unreadable_password_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^nats\.passwordFile: '.*' cannot be read: No such"
    ):
        require_readable_password(NATSConfig(password_file=str(tmp_path / "absent")))


def test_a_configuration_without_a_password_file_is_valid() -> None:
    """Check that no ConfigurationError is raised."""
    require_readable_password(NATSConfig())
