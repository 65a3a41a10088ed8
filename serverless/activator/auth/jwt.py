"""Tokens as NATS signs and reads them: JWTs with a signature of an nkey."""

import base64
import hashlib
from typing import Any, Final

import msgspec
import nkeys

HEADER: Final = {"typ": "JWT", "alg": "ed25519-nkey"}

Claims = dict[str, Any]


class UnreadableTokenError(Exception):
    """What was sent is no token."""


class Signer:
    """Signs tokens with the seed of an account."""

    def __init__(self, seed: str) -> None:
        """Take the seed; ValueError where it is none."""
        try:
            self._keys = nkeys.from_seed(bytearray(seed.encode()))
            self.issuer: str = self._keys.public_key.decode()
        except (nkeys.NkeysError, ValueError) as error:
            raise ValueError(f"not the seed of an account: {error}") from error

    def token(self, claims: Claims, now: int) -> str:
        """The claims as a signed token; `now` is in seconds since 1970."""
        said = {**claims, "iss": self.issuer, "iat": now}
        unique = hashlib.sha256(msgspec.json.encode(said)).digest()
        body = {**said, "jti": base64.b32encode(unique).decode().rstrip("=")}
        text = f"{part(HEADER)}.{part(body)}"
        return f"{text}.{unpadded(self._keys.sign(text.encode()))}"


def claims_in(token: bytes) -> Claims:
    """What a token says; who may send us one is the server's to check."""
    try:
        text = token.decode().split(".")[1]
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(data, type=Claims)
    except (ValueError, IndexError, msgspec.DecodeError) as error:
        raise UnreadableTokenError(str(error)) from error


def part(value: Claims) -> str:
    return unpadded(msgspec.json.encode(value))


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
