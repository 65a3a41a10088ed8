"""JWTs of NATS, which are signed with an nkey."""

import base64
import hashlib
from typing import Any, Final

import msgspec
import nkeys

JWT_HEADER: Final = {"typ": "JWT", "alg": "ed25519-nkey"}

JWTClaims = dict[str, Any]


class InvalidTokenError(Exception):
    """The text is not a valid token."""


class TokenSigner:
    """Signs tokens with the seed of an account."""

    def __init__(self, seed: str) -> None:
        """Parse the seed; raises ValueError if it is invalid."""
        try:
            self._key_pair = nkeys.from_seed(bytearray(seed.encode()))
            self.issuer: str = self._key_pair.public_key.decode()
        except (nkeys.NkeysError, ValueError) as error:
            raise ValueError(f"not a valid account seed: {error}") from error

    def sign(self, claims: JWTClaims, issued_at: int) -> str:
        """Return a signed token; `issued_at` is in seconds since 1970."""
        signed_claims = {**claims, "iss": self.issuer, "iat": issued_at}
        unique = hashlib.sha256(msgspec.json.encode(signed_claims)).digest()
        body = {**signed_claims, "jti": base64.b32encode(unique).decode().rstrip("=")}
        text = f"{encode_part(JWT_HEADER)}.{encode_part(body)}"
        return f"{text}.{encode_base64url(self._key_pair.sign(text.encode()))}"


def decode_claims(token: bytes) -> JWTClaims:
    """Return the claims of a token; NATS checks who may send requests."""
    try:
        text = token.decode().split(".")[1]
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(data, type=JWTClaims)
    except (ValueError, IndexError, msgspec.DecodeError) as error:
        raise InvalidTokenError(str(error)) from error


def encode_part(value: JWTClaims) -> str:
    return encode_base64url(msgspec.json.encode(value))


def encode_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
