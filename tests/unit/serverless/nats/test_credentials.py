"""Tests of NATS credentials: where and when the password of a connection is read."""

from pathlib import Path

import pytest

from serverless.nats.config import QueueConfig
from serverless.nats.credentials import credentials_from_config, credentials_from_directory
from shared.config.loader import ConfigurationError


def test_a_configured_password_is_read_at_each_connect(tmp_path: Path) -> None:
    file = tmp_path / "password"
    config = QueueConfig(url="nats://queue:4222", user="activator", password_file=str(file))
    credentials = credentials_from_config(config)()
    assert callable(credentials.password)
    for password in ("old", "new"):
        file.write_text(f"{password}\n")
        assert credentials.password() == password


def test_a_missing_password_file_is_a_configuration_error(tmp_path: Path) -> None:
    config = QueueConfig(user="activator", password_file=str(tmp_path / "none"))
    credentials = credentials_from_config(config)()
    assert callable(credentials.password)
    with pytest.raises(ConfigurationError, match=r"nats\.passwordFile"):
        credentials.password()


def test_a_user_without_a_password_file_has_no_password() -> None:
    assert credentials_from_config(QueueConfig(user="activator"))().password == ""


def test_the_files_of_a_mounted_secret_are_read_each_time(tmp_path: Path) -> None:
    values = {"url": "nats://queue", "user": "worker.echo.uid", "inboxPrefix": "_INBOX_echo_uid"}
    for name, value in values.items():
        (tmp_path / name).write_text(value)
    source = credentials_from_directory(tmp_path)
    for password in ("old", "new"):
        (tmp_path / "password").write_text(password)
        assert (source().password, source().function_uid) == (password, "uid")
