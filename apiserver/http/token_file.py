"""Tokens that follow their file: one can be given or taken back while the API runs."""

import logging
from pathlib import Path
from typing import Final

from apiserver.clock import Clock
from apiserver.http.tokens import InvalidTokensError, TokenSet
from shared.config.loader import ConfigurationError

CONFIG_KEY: Final = "auth.tokensFile"
POLL_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class TokenFile:
    """Keeps the tokens of a file; ConfigurationError where it cannot be used at the start."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = Path(path)
        self._clock = clock
        self._last_problem = ""
        try:
            self._text = self._path.read_text()
            self.tokens = TokenSet.parse(self._text)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{CONFIG_KEY}: {path!r}: {_describe_error(error)}") from error

    async def run(self) -> None:
        """Look at the file for ever; one that cannot be used changes nothing."""
        while True:
            await self._clock.sleep(POLL_SECONDS)
            try:
                self._reload()
            except (OSError, ValueError) as error:
                self._warn_once(_describe_error(error))

    def _reload(self) -> None:
        text = self._path.read_text()
        if text != self._text:
            self.tokens, self._text = TokenSet.parse(text), text
            log.info("tokens_changed", extra={"tokens": len(self.tokens.entries)})
        self._last_problem = ""

    def _warn_once(self, problem: str) -> None:
        """Say it once: the file is looked at every second."""
        if problem != self._last_problem:
            log.warning("tokens_not_read", extra={"file": str(self._path), "error": problem})
        self._last_problem = problem


def _describe_error(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    return str(error) if isinstance(error, InvalidTokensError) else "is not UTF-8"
