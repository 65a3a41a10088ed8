"""The exit codes of the programs."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The meaning of an exit status for the parent process."""

    CLEAN = 0
    FAILURE = 1
    BAD_CONFIGURATION = 2
    INTERRUPTED = 130
