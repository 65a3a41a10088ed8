"""The address at which the worker of a function reaches the user's code."""

from typing import Annotated

import msgspec
from msgspec import Meta


class FrameworkEndpoint(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """HTTP on a unix socket; the worker has a default for each empty field."""

    socket_path: Annotated[str, Meta(description="The unix socket that the code serves.")] = ""
    invoke_path: Annotated[str, Meta(description="The path that takes an invocation.")] = ""
    health_path: Annotated[str, Meta(description="The path that tells whether it can.")] = ""
