"""The address at which the worker of a function reaches the user's code."""

import posixpath
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from shared.invocation.framework_protocol import HEALTH_PATH, INVOKE_PATH, SOCKET_PATH

DEFAULT_SOCKET_FOLDER: Final = posixpath.dirname(SOCKET_PATH)
MAX_SOCKET_PATH_BYTES: Final = 107  # the longest address of a unix socket on Linux, in bytes


class FrameworkEndpoint(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The HTTP server of the user's code on a unix socket; an empty field has a default."""

    socket_path: Annotated[
        str, Meta(description="The unix socket on which the user's code listens.")
    ] = ""
    invoke_path: Annotated[str, Meta(description="The HTTP path that receives invocations.")] = ""
    health_path: Annotated[
        str, Meta(description="The HTTP path that reports whether the user's code is ready.")
    ] = ""


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
