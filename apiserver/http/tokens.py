"""The tokens that callers are known by, and what each is good for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from apiserver.http.roles import Role

SHORTEST: Final = 16

# What may follow Bearer (RFC 6750, 2.1).
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)
_ACCEPTED: Final = "a line is a role, a blank and a token; roles are " + ", ".join(Role)


class UnfitTokensError(ValueError):
    """A text that no tokens can be taken from; it says which line is wrong, never what is in it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A role, and the digest of a token that gives it: tokens themselves are not kept."""

    role: Role
    digest: bytes


@dataclass(frozen=True, slots=True)
class Tokens:
    """All tokens that are good now."""

    known: tuple[Token, ...]

    @classmethod
    def parse(cls, text: str) -> "Tokens":
        """Read a line for each role of a token; empty lines and those of # say nothing."""
        known = tuple(_read(text))
        if not known:
            raise UnfitTokensError(f"there is no token in it; {_ACCEPTED}")
        return cls(known)

    def roles(self, given: str) -> frozenset[Role]:
        """What `given` is good for; it takes as long for a near miss as for any other."""
        digest = _digest(given)
        matches = [(each.role, compare_digest(each.digest, digest)) for each in self.known]
        return frozenset(role for role, is_same in matches if is_same)


def _read(text: str) -> Iterator[Token]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield _token(words, number)


def _token(words: list[str], number: int) -> Token:
    if len(words) != 2 or words[0] not in set(Role):
        raise UnfitTokensError(f"line {number} cannot be read; {_ACCEPTED}")
    role, token = words
    if len(token) < SHORTEST or not _TOKEN.fullmatch(token):
        raise UnfitTokensError(
            f"the token of line {number} is not of at least {SHORTEST} letters, digits and ._~+/-"
        )
    return Token(Role(role), _digest(token))


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
