"""Tokens that follow their file: one can be given or taken back while the API runs."""

import logging
from pathlib import Path
from typing import Final

from apiserver.clock import Clock
from apiserver.http.tokens import Tokens, UnfitTokensError
from shared.config.loader import ConfigurationError

KEY: Final = "auth.tokensFile"
LOOK_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class TokenFile:
    """Keeps the tokens of a file; ConfigurationError where it cannot be used at the start."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = Path(path)
        self._clock = clock
        self._problem = ""
        try:
            self._text = self._path.read_text()
            self.tokens = Tokens.parse(self._text)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{KEY}: {path!r}: {_why(error)}") from error

    async def run(self) -> None:
        """Look at the file for ever; one that cannot be used changes nothing."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                self._look()
            except (OSError, ValueError) as error:
                self._complain(_why(error))

    def _look(self) -> None:
        text = self._path.read_text()
        if text != self._text:
            self.tokens, self._text = Tokens.parse(text), text
            log.info("tokens_changed", extra={"tokens": len(self.tokens.known)})
        self._problem = ""

    def _complain(self, problem: str) -> None:
        """Say it once: the file is looked at every second."""
        if problem != self._problem:
            log.warning("tokens_not_read", extra={"file": str(self._path), "error": problem})
        self._problem = problem


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    return str(error) if isinstance(error, UnfitTokensError) else "is not UTF-8"
