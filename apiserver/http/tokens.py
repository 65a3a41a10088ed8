"""The tokens that callers are known by, and what each is good for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from apiserver.http.roles import Role

MIN_TOKEN_LENGTH: Final = 16

# What may follow Bearer (RFC 6750, 2.1).
_TOKEN_PATTERN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)
_ACCEPTED_FORMAT: Final = "a line is a role, a blank and a token; roles are " + ", ".join(Role)


class InvalidTokensError(ValueError):
    """A text that no tokens can be taken from; it says which line is wrong, never what is in it."""


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A role, and the digest of a token that gives it: tokens themselves are not kept."""

    role: Role
    digest: bytes


@dataclass(frozen=True, slots=True)
class TokenSet:
    """All tokens that are good now."""

    entries: tuple[TokenEntry, ...]

    @classmethod
    def parse(cls, text: str) -> "TokenSet":
        """Read a line for each role of a token; empty lines and those of # say nothing."""
        known = tuple(_parse_lines(text))
        if not known:
            raise InvalidTokensError(f"there is no token in it; {_ACCEPTED_FORMAT}")
        return cls(known)

    def roles_of(self, token: str) -> frozenset[Role]:
        """What `given` is good for; it takes as long for a near miss as for any other."""
        digest = _token_digest(token)
        matches = [(each.role, compare_digest(each.digest, digest)) for each in self.entries]
        return frozenset(role for role, is_same in matches if is_same)


def _parse_lines(text: str) -> Iterator[TokenEntry]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield _parse_entry(words, number)


def _parse_entry(words: list[str], line_number: int) -> TokenEntry:
    if len(words) != 2 or words[0] not in set(Role):
        raise InvalidTokensError(f"line {line_number} cannot be read; {_ACCEPTED_FORMAT}")
    role, token = words
    if len(token) < MIN_TOKEN_LENGTH or not _TOKEN_PATTERN.fullmatch(token):
        raise InvalidTokensError(
            f"the token of line {line_number} is not of at least {MIN_TOKEN_LENGTH} letters, "
            "digits and ._~+/-"
        )
    return TokenEntry(Role(role), _token_digest(token))


def _token_digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
