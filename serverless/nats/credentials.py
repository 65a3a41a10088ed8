"""How a worker gets into the queue."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_INBOX_PREFIX: Final = "_INBOX"

_USER: Final = re.compile(r"worker\.[^.]+\.([^.]+)")


@dataclass(frozen=True, slots=True)
class Access:
    """An address and what is said there; without a user the address says it all."""

    url: str
    user: str = ""
    password: str = ""
    inbox_prefix: str = DEFAULT_INBOX_PREFIX

    @property
    def function_uid(self) -> str:
        """The function for which the user may work; empty if the user does not say it."""
        match = _USER.fullmatch(self.user)
        return match.group(1) if match else ""


AccessSource = Callable[[], Access]


def from_folder(folder: Path) -> AccessSource:
    """Read it from the files of a Secret, anew each time: the Secret may change."""

    def read() -> Access:
        def text(name: str) -> str:
            return (folder / name).read_text().strip()

        return Access(text("url"), text("user"), text("password"), text("inboxPrefix"))

    return read


def shown(url: str) -> str:
    """The address without the secret that it may hold."""
    return re.sub(r"//[^@/]*@", "//", url)
