"""What can go wrong between us and the queue, by what the caller can do about it."""

from typing import Final

import nats.errors

SUBJECT_FULL: Final = 10077
WRONG_SEQUENCE: Final = frozenset({10071, 10164})
ABSENT: Final = frozenset({10014, 10037, 10043, 10059})


class QueueError(Exception):
    """A call to the queue failed; the text says what happened."""


class UnavailableError(QueueError):
    """No connection or no answer in time: a write may have taken effect."""


class UnheardError(QueueError):
    """Nobody takes what is sent there; elsewhere all may be well."""


class RefusedError(QueueError):
    """The queue has answered that it will not."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class AbsentError(RefusedError):
    """There is no such stream, consumer or message."""


class OvertakenError(RefusedError):
    """Somebody else has written since: a compare-and-set has lost."""


class SubjectFullError(RefusedError):
    """The subject, or the whole stream, holds as much as it may."""


def refusal(code: int, text: str) -> RefusedError:
    """The error of a code of JetStream's."""
    if code in WRONG_SEQUENCE:
        return OvertakenError(code, text)
    if code in ABSENT:
        return AbsentError(code, text)
    return SubjectFullError(code, text) if code == SUBJECT_FULL else RefusedError(code, text)


def unavailable(error: Exception, about: str) -> QueueError:
    """The error of a request that was not answered."""
    if isinstance(error, nats.errors.NoRespondersError):
        return UnheardError(f"{about}: nobody takes it")
    why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    return UnavailableError(f"{about}: {why or type(error).__name__}")
