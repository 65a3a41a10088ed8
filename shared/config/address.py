"""The address on which a server listens."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Self

ACCEPTED_FORMAT: Final = "an address such as 127.0.0.1:8080, localhost:8080, [::1]:8080 or :8080"

_PATTERN: Final = re.compile(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([\w.-]*)):(\d{1,5})", re.ASCII)
_WILDCARD_HOSTS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - recognised, not bound


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; the empty host means every interface, port 0 means any free port."""

    host: str
    port: int

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port {self.port} is not in 0..65535; use {ACCEPTED_FORMAT}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `host:port`; an IPv6 host is in brackets. Raise ValueError for other text."""
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not {ACCEPTED_FORMAT}")
        bracketed, plain, port = match.groups()
        return cls(bracketed or plain or "", int(port))

    @property
    def url(self) -> str:
        """Return the URL by which a browser on this machine reaches the server."""
        return f"http://{Address('127.0.0.1', self.port) if self.host in _WILDCARD_HOSTS else self}"

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can connect.

        Of all host names, only localhost is loopback; other names are not resolved.
        """
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
