"""The version of a Kubernetes API server, and the check that it is new enough."""

import re
from typing import Final

import msgspec

MIN_VERSION: Final = (1, 33)


class ServerVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The response to GET /version; vendors append characters to `minor`, as in `33+`."""

    major: str
    minor: str
    git_version: str

    @property
    def is_supported(self) -> bool:
        """Return whether the server has the required features (selectable fields, sidecars)."""
        return (_leading_number(self.major), _leading_number(self.minor)) >= MIN_VERSION


def unsupported_message(server: str, version: ServerVersion) -> str:
    """Return the message for the operator of a server that is too old."""
    oldest = ".".join(map(str, MIN_VERSION))
    return (
        f"{server} runs Kubernetes {version.git_version}, and {oldest} is the oldest that works. "
        "Upgrade the cluster, or name another one in kubeconfig."
    )


def check_server_version(server: str, body: bytes) -> str | None:
    """Return why a server with this response to GET /version cannot be used, or None if it can.

    Raise msgspec.DecodeError, a ValueError, if the response is not a version.
    """
    version = msgspec.json.decode(body, type=ServerVersion)
    return None if version.is_supported else unsupported_message(server, version)


def _leading_number(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits.group()) if digits else 0
