"""Tests of the runtime API token: the client sends one token, and nothing else of its file."""

from pathlib import Path

import pytest

from serverless.activator.config import Config
from serverless.activator.wiring import load_auth_secrets
from serverless.activator.workers.runtime_api import authorization_header
from shared.config.loader import ConfigurationError

TOKEN = "Zk3v0123456789abcdef"  # noqa: S105


def test_no_token_is_sent_without_a_token_file() -> None:
    assert authorization_header("") == {}


def test_the_token_of_the_file_is_sent_without_its_newline(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert authorization_header(str(file)) == {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    "text",
    [
        f"operator {TOKEN}\n",
        f"# who\noperator {TOKEN}\ntenant-control-plane {TOKEN}\n",
        f"{TOKEN}\n{TOKEN}\n",
        f"{TOKEN}\0",
        "\n",
        "",
    ],
)
def test_a_file_with_anything_but_one_token_is_refused_and_the_error_does_not_contain_it(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="runtimeApiTokenFile: ") as raised:
        authorization_header(str(file))
    assert TOKEN not in str(raised.value)


def test_an_activator_with_an_invalid_token_file_does_not_start(tmp_path: Path) -> None:
    key, tokens = tmp_path / "key", tmp_path / "tokens"
    key.write_text("k")
    tokens.write_text(f"operator {TOKEN}\n")
    config = Config(
        worker_key_file=str(key), callout_seed_file=str(key), runtime_api_token_file=str(tokens)
    )
    with pytest.raises(ConfigurationError, match="runtimeApiTokenFile: "):
        load_auth_secrets(config)
