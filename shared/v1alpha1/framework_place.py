"""Where the worker of a function finds the user's code, with the defaults filled in."""

import posixpath
from typing import Final

from shared.invocation.framework_protocol import HEALTH_PATH, INVOKE_PATH, SOCKET_PATH
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint

DEFAULT_SOCKET_FOLDER: Final = posixpath.dirname(SOCKET_PATH)
MAX_SOCKET_PATH_BYTES: Final = 107  # bytes that Linux takes as the address of a unix socket


def resolve_endpoint(endpoint: FrameworkEndpoint | None) -> FrameworkEndpoint:
    """What was asked for, and the default for the rest."""
    asked = endpoint or FrameworkEndpoint()
    return FrameworkEndpoint(
        socket_path=asked.socket_path or SOCKET_PATH,
        invoke_path=asked.invoke_path or INVOKE_PATH,
        health_path=asked.health_path or HEALTH_PATH,
    )


def socket_folder(endpoint: FrameworkEndpoint | None) -> str:
    """The folder that the two containers share."""
    return posixpath.dirname(resolve_endpoint(endpoint).socket_path)
