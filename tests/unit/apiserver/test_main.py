"""Tests of the settings with which the API refuses to start."""

import pytest

from apiserver.clock import SystemClock
from apiserver.config import AuthConfig, Config
from apiserver.main import open_token_file
from shared.config.address import Address
from shared.config.loader import ConfigurationError

ALL_INTERFACES = Address("", 8080)


def test_no_token_is_required_on_loopback() -> None:
    assert open_token_file(Config(), SystemClock()) is None


def test_tokens_are_required_if_other_machines_can_call() -> None:
    with pytest.raises(ConfigurationError, match=r"httpAddr: .* :8080, .* auth.tokensFile"):
        open_token_file(Config(http_addr=ALL_INTERFACES), SystemClock())


def test_tokens_are_not_required_when_anonymous_access_is_configured() -> None:
    config = Config(http_addr=ALL_INTERFACES, auth=AuthConfig(allow_anonymous=True))
    assert open_token_file(config, SystemClock()) is None
