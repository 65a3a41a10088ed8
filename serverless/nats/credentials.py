"""How a worker gets into the queue."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_INBOX_PREFIX: Final = "_INBOX"

_USER_PATTERN: Final = re.compile(r"worker\.[^.]+\.([^.]+)")


@dataclass(frozen=True, slots=True)
class NATSCredentials:
    """An address and what is said there; without a user the address says it all."""

    url: str
    user: str = ""
    password: str = ""
    inbox_prefix: str = DEFAULT_INBOX_PREFIX

    @property
    def function_uid(self) -> str:
        """The function for which the user may work; empty if the user does not say it."""
        match = _USER_PATTERN.fullmatch(self.user)
        return match.group(1) if match else ""


CredentialsSource = Callable[[], NATSCredentials]


def credentials_from_directory(directory: Path) -> CredentialsSource:
    """Read it from the files of a Secret, anew each time: the Secret may change."""

    def read() -> NATSCredentials:
        def text(name: str) -> str:
            return (directory / name).read_text().strip()

        return NATSCredentials(text("url"), text("user"), text("password"), text("inboxPrefix"))

    return read


def redact_url(url: str) -> str:
    """The address without the secret that it may hold."""
    return re.sub(r"//[^@/]*@", "//", url)
