"""The address, user and password of a NATS connection."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serverless.nats.config import QueueConfig, read_secret_file

DEFAULT_INBOX_PREFIX: Final = "_INBOX"

_USER_PATTERN: Final = re.compile(r"worker\.[^.]+\.([^.]+)")


@dataclass(frozen=True, slots=True)
class NATSCredentials:
    """An address and a user; the user may be empty. A callable password is read at each connect."""

    url: str
    user: str = ""
    password: str | Callable[[], str] = ""
    inbox_prefix: str = DEFAULT_INBOX_PREFIX

    @property
    def function_uid(self) -> str:
        """The uid of the function whose worker the user is; empty if it is not in the name."""
        match = _USER_PATTERN.fullmatch(self.user)
        return match.group(1) if match else ""


CredentialsSource = Callable[[], NATSCredentials]


def credentials_from_config(config: QueueConfig) -> CredentialsSource:
    """Return a source whose password is read from its file at each connect and reconnect."""

    def read_password() -> str:
        return read_secret_file(config.password_file, "nats.passwordFile")

    password = read_password if config.password_file else ""
    return lambda: NATSCredentials(config.url, config.user, password)


def credentials_from_directory(directory: Path) -> CredentialsSource:
    """Return a source that reads the files of a mounted Secret, which may change."""

    def read() -> NATSCredentials:
        def text(name: str) -> str:
            return (directory / name).read_text().strip()

        return NATSCredentials(text("url"), text("user"), text("password"), text("inboxPrefix"))

    return read


def redact_url(url: str) -> str:
    """Return the address without the user and password that it may contain."""
    return re.sub(r"//[^@/]*@", "//", url)
