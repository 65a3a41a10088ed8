"""The address at which the worker of a function reaches the user's code."""

from typing import Annotated

import msgspec
from msgspec import Meta


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
