"""What a Kubernetes API server says it is, and whether that is new enough."""

import re
from typing import Final

import msgspec

MIN_VERSION: Final = (1, 33)


class ServerVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to GET /version; vendors append signs to `minor`, as in `33+`."""

    major: str
    minor: str
    git_version: str

    @property
    def is_supported(self) -> bool:
        """Whether the server has what the product needs: selectable fields, native sidecars."""
        return (_leading_number(self.major), _leading_number(self.minor)) >= MIN_VERSION


def unsupported_message(server: str, version: ServerVersion) -> str:
    """What to tell the operator of a server that is too old."""
    oldest = ".".join(map(str, MIN_VERSION))
    return (
        f"{server} runs Kubernetes {version.git_version}, and {oldest} is the oldest that works. "
        "Upgrade the cluster, or name another one in kubeconfig."
    )


def check_server_version(server: str, body: bytes) -> str | None:
    """Why a server with this answer to GET /version cannot be used; None if it can.

    Raises msgspec.DecodeError, a ValueError, where that is no such answer.
    """
    version = msgspec.json.decode(body, type=ServerVersion)
    return None if version.is_supported else unsupported_message(server, version)


def _leading_number(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits.group()) if digits else 0
