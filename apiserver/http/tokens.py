"""The tokens of callers and their roles, read from a file that may change."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Final

from shared.clock import Clock
from shared.config.loader import ConfigurationError

CONFIG_KEY: Final = "auth.tokensFile"
POLL_SECONDS: Final = 1.0
MIN_TOKEN_LENGTH: Final = 16

# The syntax of the token after Bearer (RFC 6750, 2.1).
_TOKEN_PATTERN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)

log = logging.getLogger(__name__)


class Role(StrEnum):
    """The role of a token, which decides its routes; a token can have both roles."""

    OPERATOR = "operator"
    TENANT_CONTROL_PLANE = "tenant-control-plane"


_ACCEPTED_FORMAT: Final = "a line must be a role, a blank and a token; roles: " + ", ".join(Role)


class InvalidTokensError(ValueError):
    """The text of a token file is invalid; the message names the line and not its content."""


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A role and the digest of its token: tokens themselves are not kept."""

    role: Role
    digest: bytes


@dataclass(frozen=True, slots=True)
class TokenSet:
    """All valid tokens."""

    entries: tuple[TokenEntry, ...]

    @classmethod
    def parse(cls, text: str) -> "TokenSet":
        """Parse lines of a role and a token; skips empty lines and comments.

        Raises InvalidTokensError, also if there is no token.
        """
        entries = tuple(_parse_lines(text))
        if not entries:
            raise InvalidTokensError(f"contains no token; {_ACCEPTED_FORMAT}")
        return cls(entries)

    def roles_of(self, token: str) -> frozenset[Role]:
        """Return the roles of a token, empty for an unknown one, in constant time."""
        digest = _token_digest(token)
        matches = [(entry.role, compare_digest(entry.digest, digest)) for entry in self.entries]
        return frozenset(role for role, is_same in matches if is_same)


def _parse_lines(text: str) -> Iterator[TokenEntry]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield _parse_entry(words, number)


def _parse_entry(words: list[str], line_number: int) -> TokenEntry:
    if len(words) != 2 or words[0] not in set(Role):
        raise InvalidTokensError(f"line {line_number} is invalid; {_ACCEPTED_FORMAT}")
    role, token = words
    if len(token) < MIN_TOKEN_LENGTH or not _TOKEN_PATTERN.fullmatch(token):
        raise InvalidTokensError(
            f"the token of line {line_number} must have at least {MIN_TOKEN_LENGTH} characters: "
            "letters, digits and ._~+/-"
        )
    return TokenEntry(Role(role), _token_digest(token))


def _token_digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


class TokenFile:
    """The current tokens of a file; raises ConfigurationError if it is unusable at the start."""

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
        """Reload the file when it changes, until cancelled; an unusable file changes nothing."""
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
        """Log a problem once: the file is read every second."""
        if problem != self._last_problem:
            log.warning("tokens_not_read", extra={"file": str(self._path), "error": problem})
        self._last_problem = problem


def _describe_error(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    return str(error) if isinstance(error, InvalidTokensError) else "is not UTF-8"
