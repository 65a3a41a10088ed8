"""How a process of ours ends."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the exit status says to whoever started the process."""

    CLEAN = 0
    FAILURE = 1
    BAD_CONFIGURATION = 2
    INTERRUPTED = 130
