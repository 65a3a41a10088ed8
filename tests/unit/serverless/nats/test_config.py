"""Tests of secrets that are read from files."""

from pathlib import Path

import pytest

from serverless.nats.config import read_secret_file
from shared.config.loader import ConfigurationError


def test_a_secret_has_no_surrounding_space(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    assert read_secret_file(str(tmp_path / "key"), "workerKeyFile") == "s3cret"


def test_a_missing_key_is_required() -> None:
    with pytest.raises(ConfigurationError, match="workerKeyFile: is required; set it to the path"):
        read_secret_file("", "workerKeyFile")


def test_the_error_for_a_missing_file_names_the_key_and_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"workerKeyFile: '.*absent' cannot be read: No"):
        read_secret_file(str(tmp_path / "absent"), "workerKeyFile")
