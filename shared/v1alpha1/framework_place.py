"""Where the worker of a function finds the user's code, with the defaults filled in."""

import posixpath
from typing import Final

from shared.invocation.framework_protocol import HEALTH_PATH, INVOKE_PATH, SOCKET_PATH
from shared.v1alpha1.framework_endpoint import Framework

SOCKET_FOLDER: Final = posixpath.dirname(SOCKET_PATH)
LONGEST_SOCKET_PATH: Final = 107  # bytes that Linux takes as the address of a unix socket


def place_of(framework: Framework | None) -> Framework:
    """What was asked for, and the default for the rest."""
    asked = framework or Framework()
    return Framework(
        socket_path=asked.socket_path or SOCKET_PATH,
        invoke_path=asked.invoke_path or INVOKE_PATH,
        health_path=asked.health_path or HEALTH_PATH,
    )


def socket_folder(framework: Framework | None) -> str:
    """The folder that the two containers share."""
    return posixpath.dirname(place_of(framework).socket_path)
