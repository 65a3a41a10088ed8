"""The address at which the worker of a function reaches the user's code, with defaults."""

import posixpath
from typing import Final

from shared.invocation.framework_protocol import HEALTH_PATH, INVOKE_PATH, SOCKET_PATH
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint

DEFAULT_SOCKET_FOLDER: Final = posixpath.dirname(SOCKET_PATH)
MAX_SOCKET_PATH_BYTES: Final = 107  # the longest address of a unix socket on Linux, in bytes


def resolve_endpoint(endpoint: FrameworkEndpoint | None) -> FrameworkEndpoint:
    """Return the requested endpoint, completed with the defaults."""
    requested = endpoint or FrameworkEndpoint()
    return FrameworkEndpoint(
        socket_path=requested.socket_path or SOCKET_PATH,
        invoke_path=requested.invoke_path or INVOKE_PATH,
        health_path=requested.health_path or HEALTH_PATH,
    )


def socket_folder(endpoint: FrameworkEndpoint | None) -> str:
    """Return the folder that the two containers share."""
    return posixpath.dirname(resolve_endpoint(endpoint).socket_path)
