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
    minimum = ".".join(map(str, MIN_VERSION))
    return (
        f"{server} runs Kubernetes {version.git_version}; the minimum version is {minimum}. "
        "Upgrade the cluster, or use a kubeconfig of another cluster."
    )


def check_server_version(server: str, body: bytes) -> str | None:
    """Return the message for a server whose version is not supported, or None if it is supported.

    `body` is the response to GET /version. Raise msgspec.DecodeError, a ValueError, if it is none.
    """
    version = msgspec.json.decode(body, type=ServerVersion)
    return None if version.is_supported else unsupported_message(server, version)


def _leading_number(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits.group()) if digits else 0
