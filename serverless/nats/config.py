"""The configuration keys of a NATS connection."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from shared.config.loader import ConfigurationError


class QueueConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The address of NATS and the user of this process."""

    url: Annotated[str, Meta(description="Address of NATS.", min_length=1)] = (
        "nats://127.0.0.1:4222"
    )
    user: Annotated[str, Meta(description="NATS user; empty: anonymous.")] = ""
    password_file: Annotated[
        str, Meta(description="File with the user's password; read at each connect.")
    ] = ""


def read_secret_file(path: str, config_key: str) -> str:
    """Return the content of the file that `config_key` names; raises ConfigurationError."""
    if not path:
        raise ConfigurationError(f"{config_key}: is required; set it to the path of a file")
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        problem = f"{path!r} cannot be read: {error.strerror}"
        raise ConfigurationError(f"{config_key}: {problem}") from error
